import { describe, expect, test } from 'vitest';
import { findMoov, readMp4SampleTables } from './sample-tables.js';

type Content = readonly (string | Uint8Array)[];
const u32 = (...values: number[]): string =>
  values.map((value) => (value >>> 0).toString(16).padStart(8, '0')).join('');
/** A box whose content is hexadecimal text and other boxes. */
const box = (type: string, ...content: Content): Uint8Array => {
  const body = Buffer.concat(content.map((part) => (typeof part === 'string' ? Buffer.from(part, 'hex') : part)));
  return Buffer.concat([Buffer.from(u32(body.length + 8), 'hex'), Buffer.from(type, 'latin1'), body]);
};
const full = (type: string, ...content: Content): Uint8Array => box(type, u32(0), ...content);

const hdlr = (handler: string): Uint8Array =>
  full('hdlr', u32(0), Buffer.from(handler, 'latin1'), '000000000000000000000000');
const mdhd = (timescale: number): Uint8Array => full('mdhd', u32(0, 0, timescale, 0, 0));
const stsd = full('stsd', u32(1), box('avc1', u32(0, 0)));

/** Four frames I P B B of 10, 20, 30 and 40 bytes in chunks of 3 and 1. */
const tables = {
  stsd,
  stts: full('stts', u32(2, 3, 512, 1, 600)),
  ctts: full('ctts', u32(3, 1, 1024, 1, 2048, 2, 512)),
  stss: full('stss', u32(1, 1)),
  stsz: full('stsz', u32(0, 4, 10, 20, 30, 40)),
  stsc: full('stsc', u32(2, 1, 3, 1, 2, 1, 1)),
  stco: full('stco', u32(2, 5000, 9000)),
};
const movie = (
  changes: Record<string, Uint8Array | undefined> = {},
  extra: Content = [],
  edits: Content = [],
): Uint8Array =>
  box(
    'moov',
    full('mvhd', u32(0, 0, 1000, 0)),
    box(
      'trak',
      ...edits,
      box(
        'mdia',
        mdhd(15_360),
        hdlr('vide'),
        box('minf', box('stbl', ...Object.values({ ...tables, ...changes }).filter((part) => part !== undefined))),
      ),
    ),
    ...extra,
  );
const read = (moov: Uint8Array) => readMp4SampleTables(moov, { videoStreamIndex: 0 });

describe('readMp4SampleTables', () => {
  test('joins the tables', () => {
    expect(read(movie())).toEqual({
      video: {
        pts: Float64Array.of(1024, 2560, 1536, 2048),
        key: Uint8Array.of(1, 0, 0, 0),
        size: Uint32Array.of(10, 20, 30, 40),
        position: Float64Array.of(5000, 5010, 5030, 9000),
        lastDuration: 512,
      },
      discontinuous: false,
    });
  });
  test('applies an edit list in the time scale of the movie', () => {
    // 139 ms of 1000 = 2135 ticks of 15360, from 1024 on; 50 ms before = 768 ticks
    const edts = box('edts', full('elst', u32(2, 50, -1, 0x10000, 139, 1024, 0x10000)));
    expect(read(movie({}, [], [edts]))?.video?.pts).toEqual(Float64Array.of(768, 2304, 1280, 1792));
  });
  test('takes 64-bit offsets, small sizes, signed offsets and every frame as key', () => {
    const video = read(
      movie({
        stss: undefined,
        stco: undefined,
        co64: full('co64', u32(2, 1, 0, 1, 4096)),
        stsz: undefined,
        stz2: full('stz2', u32(4, 4), '1234'),
        ctts: box('ctts', u32(0x0100_0000), u32(1, 4, -512)),
      }),
    )?.video;
    expect(video?.position).toEqual(Float64Array.of(2 ** 32, 2 ** 32 + 1, 2 ** 32 + 3, 2 ** 32 + 4096));
    expect(video?.size).toEqual(Uint32Array.of(1, 2, 3, 4));
    expect(video?.pts).toEqual(Float64Array.of(-512, 0, 512, 1024));
    expect(video?.key).toEqual(Uint8Array.of(1, 1, 1, 1));
  });
  test.each([
    ['a fragmented file', movie({}, [box('mvex')])],
    ['times for fewer samples', movie({ stts: full('stts', u32(1, 3, 512)) })],
    ['times for more samples', movie({ stts: full('stts', u32(1, 5, 512)) })],
    ['a negative duration', movie({ stts: full('stts', u32(1, 4, -1)) })],
    ['chunks for fewer samples', movie({ stco: full('stco', u32(1, 5000)), stsc: full('stsc', u32(1, 1, 3, 1)) })],
    ['a count beyond the box', movie({ stsz: full('stsz', u32(0, 5, 10, 20, 30, 40)) })],
    ['a hostile count', movie({ stsz: full('stsz', u32(1, 0xffff_ffff)) })],
    ['chunks in disorder', movie({ stsc: full('stsc', u32(2, 1, 3, 1, 9, 1, 1)) })],
    ['two descriptions', movie({ stsd: full('stsd', u32(2), box('avc1', u32(0, 0)), box('avc1', u32(0, 0))) })],
    ['no key frame', movie({ stss: full('stss', u32(0)) })],
    ['a doubled table', movie({ doubled: tables.stts })],
    ['an empty track', movie({ stsz: full('stsz', u32(0, 0)), stts: full('stts', u32(0)), ctts: undefined })],
    ['bytes that are no box', Buffer.from('not a movie at all')],
  ])('leaves %s to the demuxer', (_, moov) => {
    expect(read(moov)).toBeUndefined();
  });
  test('needs the track to be of the right kind and there', () => {
    expect(readMp4SampleTables(movie(), { audioStreamIndex: 0 })).toBeUndefined();
    expect(readMp4SampleTables(movie(), { videoStreamIndex: 1 })).toBeUndefined();
  });
  test('gives one entry a chunk for PCM, whatever the number of samples', () => {
    const stbl = box(
      'stbl',
      full('stsd', u32(1), box('sowt', u32(0, 0))),
      full('stts', u32(1, 2_000_000_000, 1)),
      full('stsz', u32(4, 2_000_000_000)),
      full('stsc', u32(2, 1, 48_000, 1, 3, 24_000, 1)),
      full('stco', u32(3, 100, 300_000, 600_000)),
    );
    const trak = box('trak', box('mdia', mdhd(48_000), hdlr('soun'), box('minf', stbl)));
    const moov = box('moov', full('mvhd', u32(0, 0, 1000, 0)), trak);
    expect(readMp4SampleTables(moov, { audioStreamIndex: 0 })?.audio).toEqual({
      pts: Float64Array.of(0, 48_000, 96_000),
      key: Uint8Array.of(1, 1, 1),
      size: Uint32Array.of(192_000, 192_000, 96_000),
      position: Float64Array.of(100, 300_000, 600_000),
      lastDuration: 24_000,
    });
  });
  test('survives damage of every byte', () => {
    const bytes = movie({}, [], [box('edts', full('elst', u32(1, 139, 1024, 0x10000)))]);
    for (let offset = 0; offset < bytes.length; offset += 1) {
      for (const value of [0x00, 0x01, 0x7f, 0xff]) {
        const damaged = Uint8Array.from(bytes);
        damaged[offset] = value;
        const index = read(damaged);
        expect(index === undefined || index.video !== undefined).toBe(true);
      }
    }
  });
});

describe('findMoov', () => {
  const moov = movie();
  const reader = (file: Uint8Array) => {
    const lengths: number[] = [];
    const find = () =>
      findMoov(async (offset, length) => {
        lengths.push(length);
        return file.subarray(offset, offset + length);
      }, file.length);
    return { lengths, find };
  };
  test('skips what is before it without reading it', async () => {
    const wide = Buffer.concat([Buffer.from(`${u32(1)}6d646174${u32(0, 100_000)}`, 'hex'), Buffer.alloc(99_984)]);
    const { find, lengths } = reader(Buffer.concat([box('ftyp', u32(1)), wide, moov]));
    expect(await find()).toEqual(moov);
    expect(lengths).toEqual([16, 16, 16, moov.length]);
  });
  test('finds nothing in a cut or endless file', async () => {
    expect(await reader(box('mdat', u32(1))).find()).toBeUndefined();
    expect(await reader(moov.subarray(0, -1)).find()).toBeUndefined();
    const endless = Buffer.concat(Array.from({ length: 5000 }, () => box('free')));
    const { find, lengths } = reader(endless);
    expect(await find()).toBeUndefined();
    expect(lengths).toHaveLength(4096);
  });
});
