import { expect, test } from 'vitest';
import { contentDisposition } from './content-disposition.js';

test.each([
  ['walk', 'attachment; filename="walk.mp4"'],
  ['walk.mp4', 'attachment; filename="walk.mp4"'],
  ['Walk.MP4', 'attachment; filename="Walk.MP4"'],
  ['walk.m4a', 'attachment; filename="walk.m4a.mp4"'],
  ['a "b" \'c\'', 'attachment; filename="a b c.mp4"'],
  ['../../etc/passwd', 'attachment; filename="etcpasswd.mp4"'],
  ['..\\c:\\x', 'attachment; filename="c:x.mp4"'],
  ['a\r\nset-cookie: b', 'attachment; filename="aset-cookie: b.mp4"'],
  ['"/"', 'attachment; filename="highest.mp4"'],
  ['Übung (1)', 'attachment; filename="_bung (1).mp4"; filename*=UTF-8\'\'%C3%9Cbung%20%281%29.mp4'],
  ['🎬', 'attachment; filename="_.mp4"; filename*=UTF-8\'\'%F0%9F%8E%AC.mp4'],
])('%j', (wanted, expected) => {
  expect(contentDisposition(wanted, 'highest.mp4')).toBe(expected);
});
