import { describe, expect, test } from 'vitest';
import { type CaptionPair, readCaptionPairs } from './caption-data.js';
import { type CaptionChannelName, CaptionDecoder } from './caption-decoder.js';

const RCL = [0x14, 0x20];
const EDM = [0x14, 0x2c];
const EOC = [0x14, 0x2f];
const CR = [0x14, 0x2d];
const RU2 = [0x14, 0x25];
const RDC = [0x14, 0x29];
/** Row 15, column 0. */
const ROW_15 = [0x14, 0x60];
const ROW_14 = [0x14, 0x40];

const withParity = (byte: number): number => {
  const ones = byte.toString(2).replaceAll('0', '').length;
  return ones % 2 === 0 ? byte | 0x80 : byte;
};
const pairOf = ([first = 0, second = 0]: readonly number[], field: 1 | 2 = 1): CaptionPair => ({
  field,
  first: withParity(first),
  second: withParity(second),
});
const textOf = (text: string): number[][] =>
  Array.from({ length: Math.ceil(text.length / 2) }, (_, at) => [
    text.charCodeAt(at * 2),
    text.charCodeAt(at * 2 + 1) || 0,
  ]);
/** Codes are sent twice, as encoders do. */
const twice = (...codes: readonly number[][]): number[][] => codes.flatMap((code) => [code, code]);

/** Decodes one pair per frame of 40 ms; the keys are the seconds of the first frame. */
const decode = (
  frames: Readonly<Record<number, readonly number[][]>>,
  { name = 'cc1', field = 1 }: { name?: CaptionChannelName; field?: 1 | 2 } = {},
) => {
  const decoder = new CaptionDecoder([name], 10_000);
  for (const [start, codes] of Object.entries(frames))
    for (const [at, code] of codes.entries()) decoder.take(Number(start) + at * 0.04, [pairOf(code, field)]);
  const [cues] = decoder.finish(100);
  return cues!.map(({ startSeconds, endSeconds, text }) => [
    Math.round(startSeconds * 100) / 100,
    Math.round(endSeconds * 100) / 100,
    text,
  ]);
};

describe('modes', () => {
  test('pop-on captions appear and disappear as a whole', () => {
    const caption = (row14: string, row15: string) => [
      ...twice(RCL, ROW_14),
      ...textOf(row14),
      ...twice(ROW_15),
      ...textOf(row15),
    ];
    expect(
      decode({
        1: caption('Good evening,', 'Harbor.'),
        2: [...twice(EDM), ...twice(EOC)],
        3: caption('<Second>', '& last'),
        5: twice(EOC),
        7: twice(EDM),
      }),
    ).toEqual([
      [2.08, 5, 'Good evening,\nHarbor.'],
      [5, 7, '&lt;Second&gt;\n&amp; last'],
    ]);
  });

  test('rolled lines are cues, with the line that moved up', () => {
    expect(
      decode({
        1: [...twice(RU2, CR, ROW_15), ...textOf('one')],
        2: [...twice(CR), ...textOf('two')],
        4: [...twice(CR), ...textOf('three')],
        6: twice(EDM),
      }),
    ).toEqual([
      [1.24, 2, 'one'],
      [2, 4, 'one\ntwo'],
      [4, 6, 'two\nthree'],
    ]);
  });

  test('a pause separates what is painted, and backspace and end of row remove', () => {
    expect(
      decode({
        1: [...twice(RDC, ROW_15), ...textOf('Ab!'), ...twice([0x14, 0x21])],
        3: [...textOf('c'), ...twice(ROW_14), ...textOf('D')],
        5: twice([0x14, 0x24]),
        6: [...twice(ROW_15), ...twice([0x14, 0x24])],
      }),
    ).toEqual([
      [1.16, 3, 'Ab'],
      [3, 6.08, 'D\nAbc'],
      [6.08, 22.12, 'D'],
    ]);
  });

  test('moves the window of rolled lines to another row', () => {
    const frames = { 1: [...twice(RU2, ROW_15), ...textOf('up')], 2: twice(CR, [0x11, 0x40]), 4: textOf('dn') };
    expect(decode(frames)).toEqual([
      [1.16, 4, 'up'],
      [4, 20, 'up\ndn'],
    ]);
  });
});

describe('characters', () => {
  const painted = (...codes: readonly number[][]) => decode({ 1: [...twice(RDC, ROW_15), ...codes] })[0]?.[2];

  test('reads those beside ASCII, and extended ones in place of the one before', () => {
    expect(painted(...textOf("*\\'"), ...twice([0x11, 0x37]))).toBe('áé’♪');
    expect(painted(...textOf('Ue'), ...twice([0x12, 0x36]), ...twice([0x13, 0x34]))).toBe('Uß');
    expect(painted(...textOf('O'), ...twice([0x13, 0x32]))).toBe('Ö');
  });

  test('italics, indents and tabs', () => {
    expect(painted(...twice([0x11, 0x2e]), ...textOf('so'), ...twice([0x11, 0x20]), ...textOf('it'))).toBe(
      '<i>so </i>it',
    );
    expect(painted(...textOf('a'), ...twice([0x17, 0x22]), ...textOf('b'))).toBe('a  b');
    expect(painted(...twice([0x14, 0x4e]), ...textOf('all'))).toBe('<i>all</i>');
  });

  test('a third equal code counts again, and bytes with wrong parity do not', () => {
    expect(painted(...textOf('abcd'), [0x14, 0x21], [0x14, 0x21], [0x14, 0x21])).toBe('ab');
    const decoder = new CaptionDecoder(['cc1'], 100);
    const wrong = { field: 1 as const, first: 0x61, second: 0x62 ^ 0x80 };
    decoder.take(0, [pairOf(RDC), pairOf(ROW_15)]);
    decoder.take(2, [{ ...wrong, first: 0x62 }, pairOf([0x6f, 0x6b])]);
    expect(decoder.finish(3)[0]?.map(({ text }) => text)).toEqual(['ok']);
  });
});

describe('channels', () => {
  test('cc2 has the channel bit, cc3 is in the second field', () => {
    const second = [[0x1c, 0x29], [0x1c, 0x60], ...textOf('two'), [0x14, 0x29], ...textOf('one')];
    expect(decode({ 1: second }, { name: 'cc2' })[0]?.[2]).toBe('two');
    expect(decode({ 1: second })[0]?.[2]).toBe('one');
    const field2 = [[0x15, 0x29], [0x14, 0x60], ...textOf('drei'), [0x01, 0x03], ...textOf('XDS')];
    expect(decode({ 1: field2 }, { name: 'cc3', field: 2 }).map(([, , text]) => text)).toEqual(['drei']);
    expect(decode({ 1: field2 }, { name: 'cc1', field: 2 })).toEqual([]);
    expect(decode({ 1: field2 }, { name: 'cc4', field: 2 })).toEqual([]);
  });

  test('takes frames in decoding order', () => {
    const decoder = new CaptionDecoder(['cc1'], 100);
    const codes = [RDC, ROW_15, ...textOf('reordered')];
    for (const at of [0, 3, 1, 2, 6, 4, 5]) decoder.take(at / 25, [pairOf(codes[at]!)]);
    expect(decoder.finish(1)[0]).toMatchObject([{ startSeconds: 2 / 25, text: 'reordered' }]);
  });

  test('ends what is shown after 16 seconds of silence, and keeps no more than its limit', () => {
    const silent = { 1: [RDC, ROW_15, ...textOf('hi')], 40: twice(EDM) };
    expect(decode(silent)).toEqual([[1.08, 17.08, 'hi']]);
    const decoder = new CaptionDecoder(['cc1'], 3);
    for (let at = 0; at < 4; at += 1)
      for (const [frame, code] of [RDC, ROW_15, [0x61, 0x62], EDM].entries())
        decoder.take(at + frame / 25, [pairOf(code)]);
    expect(decoder.finish(10)[0]).toHaveLength(1);
  });
});

describe('access units', () => {
  const message = (...triplets: readonly number[][]): number[] => {
    const payload = [0xb5, 0, 0x31, 0x47, 0x41, 0x39, 0x34, 3, 0x40 | triplets.length, 0xff, ...triplets.flat(), 0xff];
    return [4, payload.length, ...payload];
  };
  const unit = (...bytes: number[]): number[] => [0, 0, 0, bytes.length, ...bytes];

  test('reads valid pairs of both fields among other messages and units', () => {
    const sei = [6, 1, 1, 0xaa, ...message([0xfc, 0x94, 0x2c], [0xfd, 0x15, 0x20], [0xf8, 1, 2], [0xfe, 3, 4]), 0x80];
    const bytes = Uint8Array.from([...unit(9, 0xf0), ...unit(...sei), ...unit(0x65, 1, 2, 3)]);
    expect(readCaptionPairs('avc', bytes)).toEqual([
      { field: 1, first: 0x94, second: 0x2c },
      { field: 2, first: 0x15, second: 0x20 },
    ]);
    const hevc = Uint8Array.from(unit(39 << 1, 1, ...message([0xfc, 0x94, 0x2c]), 0x80));
    expect(readCaptionPairs('hevc', hevc)).toHaveLength(1);
    expect(readCaptionPairs('avc', hevc)).toEqual([]);
  });

  test('skips emulation prevention, and reads nothing past the end', () => {
    const sei = [6, ...message([0xfc, 0, 0], [0xfc, 0x94, 0x2c]), 0x80];
    const escaped = sei.flatMap((byte, at) => (sei[at - 1] === 0 && sei[at - 2] === 0 && byte <= 3 ? [3, byte] : byte));
    expect(readCaptionPairs('avc', Uint8Array.from(unit(...escaped)))).toHaveLength(2);
    for (let length = 0; length < sei.length + 4; length += 1)
      expect(readCaptionPairs('avc', Uint8Array.from(unit(...sei)).subarray(0, length)).length).toBeLessThanOrEqual(2);
    expect(readCaptionPairs('avc', Uint8Array.from([255, 255, 255, 255, 6, 4, 255, 255]))).toEqual([]);
  });
});
