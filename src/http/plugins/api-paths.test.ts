import { expect, it } from 'vitest';
import { isApiPath, pathOf } from './api-paths.js';

it.each([
  '/video',
  '/video?limit=1',
  '/VIDEO/v1/assets?next=/a',
  '//system/v1',
  '/../data/',
  '/.//robots?a=%2F',
  '/%76ideo/v1',
  '/video%2Fv1',
  '/%2Fvideo?limit=1',
  'http://example.org/video/v1?limit=1',
])('%s is a path of the API', (url) => {
  expect(isApiPath(url)).toBe(true);
});

it.each(['/', '/videos', '/video.m3u8?a=/video', '/?/video', '/abc/video', '/%3F/video', '/video%3Fa', '/%', 'video'])(
  '%s is none',
  (url) => {
    expect(isApiPath(url)).toBe(false);
  },
);

it('a path ends at the first question mark', () => {
  expect(['/a', '/a?', '/a?b?c', '?b'].map(pathOf)).toEqual(['/a', '/a', '/a', '']);
});
