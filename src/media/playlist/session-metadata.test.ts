import { expect, test } from 'vitest';
import { metadataJson } from './session-metadata.js';

test('metadata.json carries the title twice and the duration', () => {
  expect(metadataJson('Harbor walk', 42.375)).toEqual([
    {
      metadata: [{ key: 'title', value: 'Harbor walk' }],
      titles: [{ language: 'und', title: 'Harbor walk' }],
      'start-time': 0,
      duration: 42.375,
    },
  ]);
});

test('without title it is one empty element', () => {
  expect(metadataJson(undefined, 42.375)).toEqual([{ metadata: [], titles: [] }]);
});

test('with chapters it has one element for each, and the first keeps the title of the asset', () => {
  const chapters = [
    { start_time: 0, title: 'Pier' },
    { start_time: 12.5, title: 'Gulls' },
  ];
  expect(metadataJson('Harbor walk', 42.375, chapters)).toEqual([
    {
      metadata: [{ key: 'title', value: 'Harbor walk' }],
      titles: [{ language: 'und', title: 'Pier' }],
      chapter: 1,
      'start-time': 0,
      duration: 12.5,
    },
    { titles: [{ language: 'und', title: 'Gulls' }], chapter: 2, 'start-time': 12.5, duration: 29.875 },
  ]);
  expect(metadataJson(undefined, 20, chapters)[0]!.metadata).toEqual([]);
});
