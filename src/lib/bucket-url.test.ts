import { expect, test } from 'vitest';
import { bucketObjectOf, isUnderPath } from './bucket-url.js';

test.each([
  ['s3://masters/a.mp4', { bucket: 'masters', key: 'a.mp4' }],
  ['s3://my-masters/2026/Été 1%20.mov', { bucket: 'my-masters', key: '2026/Été 1%20.mov' }],
  [`s3://masters/${'a'.repeat(1024)}`, { bucket: 'masters', key: 'a'.repeat(1024) }],
])('%s is an object', (url, object) => {
  expect(bucketObjectOf(url)).toEqual(object);
});

test.each([
  's3://masters',
  's3://masters/',
  's3://masters/a/',
  's3://masters//a',
  's3://masters/../other/a',
  's3://masters/a/./b',
  's3://MASTERS/a',
  's3://m/a',
  'S3://masters/a',
  's3://masters/a\nb',
  `s3://masters/${'é'.repeat(513)}`,
  'https://masters/a',
])('%j is none', (url) => {
  expect(bucketObjectOf(url)).toBeUndefined();
});

test('a prefix covers whole parts of keys', () => {
  const object = { bucket: 'masters', key: 'films/2026/a.mp4' };
  const covers = (bucket: string, prefix: string) => isUnderPath(object, { bucket, prefix });
  expect(covers('masters', '')).toBe(true);
  expect(covers('masters', 'films')).toBe(true);
  expect(covers('masters', 'films/2026')).toBe(true);
  expect(covers('masters', 'film')).toBe(false);
  expect(covers('masters', 'films/2026/a.mp4')).toBe(false);
  expect(covers('master', 'films')).toBe(false);
});
