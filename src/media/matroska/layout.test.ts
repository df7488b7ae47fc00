import { describe, expect, test } from 'vitest';
import { findMatroskaLayout } from './layout.js';

const EBML = '1a45dfa3';
const SEGMENT = '18538067';
const SEEK_HEAD = '114d9b74';
const INFO = '1549a966';
const TRACKS = '1654ae6b';
const CUES = '1c53bb6b';
const CLUSTER = '1f43b675';
const ATTACHMENTS = '1941a469';
const VOID = 'ec';

const sizeOf = (bytes: number): Buffer =>
  Buffer.from((2n ** 56n + BigInt(bytes)).toString(16).padStart(16, '0'), 'hex');
/**
 * Sizes have eight bytes, as in files whose elements were written before their sizes were known.
 */
const element = (id: string, content: Uint8Array = Buffer.alloc(0)): Buffer =>
  Buffer.concat([Buffer.from(id, 'hex'), sizeOf(content.length), content]);
const header = (id: string, bytes: number): Buffer => Buffer.concat([Buffer.from(id, 'hex'), sizeOf(bytes)]);
const seek = (id: string, position: number): Buffer => {
  const at = Buffer.alloc(8);
  at.writeBigUInt64BE(BigInt(position));
  return element('4dbb', Buffer.concat([element('53ab', Buffer.from(id, 'hex')), element('53ac', at)]));
};
const SEEK_BYTES = seek(CUES, 0).length;

/**
 * A file that begins with these parts; the rest of it holds zeros. `reads` counts the parts that
 * were read.
 */
const fileOf = (parts: readonly Buffer[], later: ReadonlyMap<number, Buffer> = new Map(), sizeBytes = 2 ** 40) => {
  const start = Buffer.concat([element(EBML), header(SEGMENT, sizeBytes), ...parts]);
  let reads = 0;
  const read = async (offset: number, length: number): Promise<Buffer> => {
    reads += 1;
    const bytes = Buffer.alloc(length);
    (offset < start.length ? start.subarray(offset, offset + length) : later.get(offset))?.copy(bytes);
    return bytes;
  };
  return { layout: findMatroskaLayout(read, sizeBytes), readsOf: () => reads };
};
const ORIGIN = element(EBML).length + header(SEGMENT, 0).length;
const described = [element(INFO), element(TRACKS)];

test('cues after the frames, of which a list at the start tells', async () => {
  const at = 2 ** 33;
  const padding = [element('bf', Buffer.alloc(4)), element(VOID, Buffer.alloc(40))];
  const list = element(SEEK_HEAD, Buffer.concat([...padding, seek(CUES, at - ORIGIN)]));
  const layout = await fileOf([list, ...described, header(CLUSTER, 10)], new Map([[at, header(CUES, 50)]])).layout;
  const firstCluster = ORIGIN + list.length + element(INFO).length + element(TRACKS).length;
  expect(layout).toMatchObject({
    origin: ORIGIN,
    firstCluster,
    cues: { start: at + 12, end: at + 62 },
    opening: [
      { start: 0, end: firstCluster },
      { start: at, end: at + 62 },
    ],
  });
});

test('cues before the frames, with a checksum, padding and a cluster of unknown size', async () => {
  const cluster = Buffer.from(`${CLUSTER}01ffffffffffffff`, 'hex');
  const parts = [element('bf', Buffer.alloc(4)), element(VOID), ...described, element(CUES), cluster];
  expect(await fileOf(parts).layout).toMatchObject({ cues: { end: expect.any(Number) } });
});

describe('refused without reading more than a few parts', () => {
  const farApart = (count: number): number[] => Array.from({ length: count }, (_, at) => 2 ** 30 * (at + 1));
  const listOf = (places: readonly number[], id = VOID): Buffer =>
    element(SEEK_HEAD, Buffer.concat(places.map((at) => seek(id, at - ORIGIN))));
  const emptyAt = (places: readonly number[]): Map<number, Buffer> =>
    new Map(places.map((at) => [at, element(VOID)] as const));
  const LIST = 'its list of elements is too large or damaged';

  test.each<[string, readonly Buffer[], string, (readonly number[])?]>([
    ['a list of many elements', [listOf(farApart(500)), ...described], LIST, farApart(500)],
    ['a list that ends within an entry', [element(SEEK_HEAD, seek(CUES, 5).subarray(0, SEEK_BYTES - 4))], LIST],
    ['an entry that ends within an element', [element(SEEK_HEAD, element('4dbb', Buffer.from('53', 'hex')))], LIST],
    ['a list of a terabyte', [header(SEEK_HEAD, 2 ** 39)], 'no frames were found at its start'],
    ['an element that ends after the file', [header(VOID, 2 ** 41)], 'an element ends after the file'],
    ['an element of unknown size', [Buffer.from(`${INFO}01ffffffffffffff`, 'hex')], 'an element ends after the file'],
    ['only empty elements', Array<Buffer>(1000).fill(element(VOID)), 'no frames were found at its start'],
    ['huge cues', [...described, element(CUES, Buffer.alloc(9 * 2 ** 20))], 'its cues are too large'],
    [
      'large attachments',
      [...described, element(CUES), element(ATTACHMENTS, Buffer.alloc(65 * 2 ** 20))],
      'it has too much beside its frames, such as attachments',
    ],
    ['a list of what is not there', [listOf([2 ** 35], CUES)], 'its list of elements points to something else'],
    ['a list of places after the end', [listOf([2 ** 52], CUES)], 'its list of elements points to something else'],
    ['no cues', described, 'it has no cues'],
    ['no tracks', [element(CUES)], 'its tracks are not described at its start'],
  ])('%s', async (_title, parts, reason, places = []) => {
    const { layout, readsOf } = fileOf([...parts, header(CLUSTER, 10)], emptyAt(places));
    expect(await layout).toBe(reason);
    expect(readsOf()).toBeLessThan(150);
  });
});

test('lists that name each other are read once', async () => {
  const [one, other] = [2 ** 31, 2 ** 32];
  const list = (at: number): Buffer => element(SEEK_HEAD, seek(SEEK_HEAD, at - ORIGIN));
  const parts = [list(one), ...described, element(CUES)];
  const later = new Map([
    [one, list(other)],
    [one + 12, list(other).subarray(12)],
    [other, list(one)],
    [other + 12, list(one).subarray(12)],
  ]);
  const { layout, readsOf } = fileOf([...parts, header(CLUSTER, 10)], later);
  expect(await layout).toMatchObject({ opening: [{}, { start: one }, { start: other }] });
  expect(readsOf()).toBeLessThan(20);
});
