import { expect, it } from 'vitest';
import { formatProgress, formatTime } from './format-time.js';
import { parseStoryboard } from './storyboard.js';

it('reads the tiles of a storyboard, with URLs of its own place', () => {
  const text = [
    'WEBVTT\n',
    '00:00:00.000 --> 00:00:10.500\nhttps://images.example/x/storyboard.jpg?token=a#xywh=0,0,256,144\n',
    '01:00:10.500 --> 01:00:21.000\n/x/storyboard.jpg#xywh=256,144,256,144\n',
  ].join('\n');
  expect(parseStoryboard(text, 'https://video.example/x/storyboard.vtt')).toEqual([
    { startSeconds: 0, url: 'https://images.example/x/storyboard.jpg?token=a', x: 0, y: 0, width: 256, height: 144 },
    { startSeconds: 3610.5, url: 'https://video.example/x/storyboard.jpg', x: 256, y: 144, width: 256, height: 144 },
  ]);
  expect(parseStoryboard('WEBVTT', 'https://video.example/')).toEqual([]);
});

it.each([
  [0, '0:00'],
  [7.9, '0:07'],
  [754, '12:34'],
  [3723, '1:02:03'],
  [Number.NaN, '0:00'],
])('writes %d seconds as %s', (seconds, text) => {
  expect(formatTime(seconds)).toBe(text);
});

it.each([
  [0, 39.7, ['0:00', '0:40']],
  [39.2, 39.7, ['0:39', '0:40']],
  [39.7, 39.7, ['0:40', '0:40']],
  [19.9, 20.2, ['0:19', '0:20']],
  [20.2, 20.2, ['0:20', '0:20']],
  [0, 0, ['0:00', '0:00']],
])('writes %d of %d seconds as %j', (seconds, duration, texts) => {
  expect(formatProgress(seconds, duration)).toEqual(texts);
});
