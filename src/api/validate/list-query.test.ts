import { expect, it } from 'vitest';
import { encodeCursor, readListQuery } from './list-query.js';

it('a cursor leads back to its place', () => {
  const position = { createdAt: new Date('2026-01-01T00:00:00.123Z'), seq: 42 };
  expect(readListQuery({ cursor: encodeCursor(position) })).toEqual({ limit: 25, offset: 0, after: position });
});

it.each(['[1]', '[1,2,3]', '{"a":1}', '[1.5,2]', '[-1,2]', '[9999999999999999,2]', '[1,9999999999999999]', 'x'])(
  'a cursor of %s is invalid',
  (text) => {
    const cursor = Buffer.from(text).toString('base64url');
    expect(() => readListQuery({ cursor })).toThrow('cursor is invalid');
  },
);
