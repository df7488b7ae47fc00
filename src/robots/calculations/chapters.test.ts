import { expect, test } from 'vitest';
import { mergeChapters } from './chapters.js';

const chapter = (start_time: number, title = `at ${start_time}`) => ({ start_time, title });

test('the first chapter begins at zero, all of them within the asset and in order', () => {
  expect(mergeChapters([[chapter(70), chapter(5), chapter(90), chapter(5, 'twice')]], 90)).toEqual([
    chapter(0, 'at 5'),
    chapter(70),
  ]);
});

test('a chapter that windows share is there once', () => {
  const windows = [
    [chapter(0), chapter(100)],
    [chapter(110), chapter(125)],
  ];
  expect(mergeChapters(windows, 300)).toEqual([chapter(0), chapter(100), chapter(125)]);
});

test('titles are one line, and empty ones are no chapters', () => {
  expect(mergeChapters([[chapter(0, ' a\n b '), chapter(1, ' ')]], 9)).toEqual([chapter(0, 'a b')]);
});
