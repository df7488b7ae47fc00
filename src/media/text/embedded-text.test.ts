import { expect, test } from 'vitest';
import { isReadableText, TextCollector } from './embedded-text.js';
import { parseSubtitles } from './subtitles.js';

const collect = (codec: string, packets: readonly (readonly [number, number, string | Uint8Array, string?])[]) => {
  const collector = new TextCollector(codec, 1_000);
  for (const [startSeconds, durationSeconds, text, settings] of packets) {
    const bytes = typeof text === 'string' ? Buffer.from(text) : text;
    collector.add({ startSeconds, durationSeconds, bytes, ...(settings !== undefined && { settings }) });
  }
  return collector.finish();
};
const sample = (text: Uint8Array, styles = Buffer.alloc(0)): Buffer =>
  Buffer.concat([Buffer.from([text.length >> 8, text.length & 255]), text, styles]);

test('SubRip keeps its tags, and empty lines do not end a cue', () => {
  const written = collect('subrip', [
    [1, 1.5, '<i>Un</i>\r\n\r\ndeux'],
    [4, 2, 'trois'],
  ]);
  expect(written).toBe(
    '1\n00:00:01.000 --> 00:00:02.500\n<i>Un</i>\ndeux\n\n2\n00:00:04.000 --> 00:00:06.000\ntrois\n\n',
  );
  expect(parseSubtitles(written)?.cues.map(({ text }) => text)).toEqual(['<i>Un</i>\ndeux', 'trois']);
});

test('ASS loses its styles and drawings', () => {
  const event = (text: string) => `0,0,Default,,0,0,0,,${text}`;
  const drawing = event('{\\p1}m 0 0 l 10 0{\\p0}');
  const written = collect('ass', [
    [0, 1, event('{\\i1}Hello,{\\i0}\\Nyou\\hthere')],
    [1, 1, drawing],
  ]);
  expect(parseSubtitles(written)?.cues.map(({ text }) => text)).toEqual(['Hello,\nyou there']);
});

test('ASS keeps the text beside drawings and comments', () => {
  const event = (text: string) => `0,0,Default,,0,0,0,,${text}`;
  const written = collect('ass', [
    [0, 1, event('before{\\p1}m 0 0 l 10 0{\\p0} after')],
    [1, 1, event('a } b{ comment { of one }, c')],
    [2, 1, event('{\\pos(1,2)\\pbo3}text {open')],
  ]);
  const texts = parseSubtitles(written)?.cues.map(({ text }) => text);
  expect(texts).toEqual(['before after', 'a } b, c', 'text {open']);
});

test('a packet of many brackets is read in one pass', { timeout: 5_000 }, () => {
  const collector = new TextCollector('ass', 4 * 2 ** 20);
  const bytes = Buffer.from(`0,0,Default,,0,0,0,,${'{'.repeat(2 ** 20)}`);
  for (let at = 0; at < 40; at += 1) collector.add({ startSeconds: at, durationSeconds: 1, bytes });
  expect(collector.finish().length).toBeLessThan(40 * 2 ** 17);
});

test('3GPP timed text: empty samples are gaps, styles are dropped', () => {
  const written = collect('mov_text', [
    [0, 1, sample(Buffer.alloc(0))],
    [1, 1, sample(Buffer.from('Zwölf'), Buffer.from('\0\0\0\x0cstyl\0\0\0\0'))],
    [2, 1, sample(Buffer.from([0xfe, 0xff, 0x30, 0x42]))],
    [3, 1, Buffer.from([0])],
  ]);
  expect(parseSubtitles(written)?.cues).toMatchObject([
    { startSeconds: 1, endSeconds: 2, text: 'Zwölf' },
    { startSeconds: 2, endSeconds: 3, text: 'あ' },
  ]);
});

test('WebVTT keeps its settings', () => {
  const written = collect('webvtt', [[1, 1, 'top', 'line:0 align:start']]);
  expect(written).toBe('WEBVTT\n\n00:00:01.000 --> 00:00:02.000 line:0 align:start\ntop\n\n');
});

test('cues without an end last until the next one', () => {
  const written = collect('text', [
    [1, 0, 'one'],
    [3, 0, 'two'],
    [-5, 7, 'before'],
    [-5, 2, 'never'],
  ]);
  expect(parseSubtitles(written)?.cues).toMatchObject([
    { startSeconds: 0, endSeconds: 2, text: 'before' },
    { startSeconds: 1, endSeconds: 3, text: 'one' },
    { startSeconds: 3, endSeconds: 13, text: 'two' },
  ]);
});

test('text beyond the limit is left out, and a stream without text is empty', () => {
  expect(collect('text', [[1, 1, 'x'.repeat(2_000)]])).toBe('');
  expect(collect('text', [])).toBe('');
});

test('pictures and unknown codecs are not readable', () => {
  expect(['subrip', 'ass', 'mov_text', 'webvtt'].every(isReadableText)).toBe(true);
  expect(['hdmv_pgs_subtitle', 'dvd_subtitle', 'toString'].some(isReadableText)).toBe(false);
});
