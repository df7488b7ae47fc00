import { describe, expect, it } from 'vitest';
import { findLeadingMoov } from './leading-moov.js';

const box = (type: string, content: Uint8Array = new Uint8Array()): Buffer => {
  const header = Buffer.alloc(8);
  header.writeUInt32BE(8 + content.length, 0);
  header.write(type, 4, 'latin1');
  return Buffer.concat([header, content]);
};
/** With its size in 64 bits. */
const longBox = (type: string, content: Uint8Array, sizeBytes = BigInt(16 + content.length)): Buffer => {
  const header = Buffer.alloc(16);
  header.writeUInt32BE(1, 0);
  header.write(type, 4, 'latin1');
  header.writeBigUInt64BE(sizeBytes, 8);
  return Buffer.concat([header, content]);
};
/** With a size that says something else than the content. */
const resized = (bytes: Buffer, sizeBytes: number): Buffer => {
  const changed = Buffer.from(bytes);
  changed.writeUInt32BE(sizeBytes, 0);
  return changed;
};

const ftyp = box('ftyp', Buffer.from('isom0000isom'));
const tracks = Buffer.concat([box('mvhd', Buffer.alloc(100)), box('trak', Buffer.alloc(200))]);
const moov = box('moov', tracks);
const mdat = box('mdat', Buffer.alloc(500));

/** What is found in the first `receivedBytes` bytes; no byte after them may be read. */
const find = (parts: readonly Buffer[], receivedBytes?: number) => {
  const file = Buffer.concat(parts);
  const received = file.subarray(0, receivedBytes);
  const read = async (offset: number, length: number): Promise<Uint8Array> => {
    if (offset + length > received.length && receivedBytes !== undefined)
      throw new Error(`${offset + length} bytes are needed and ${received.length} have arrived`);
    return received.subarray(offset, offset + length);
  };
  return findLeadingMoov(read, received.length, file.length);
};
const at = (start: number, length: number) => ({ moov: { start, end: start + length } });

describe('the index at the start of a file', () => {
  it.each([
    ['after ftyp', [ftyp, moov, mdat], at(ftyp.length, moov.length)],
    ['without ftyp', [moov, mdat], at(0, moov.length)],
    ['with a size in 64 bits', [ftyp, longBox('moov', tracks), mdat], at(ftyp.length, moov.length + 8)],
    [
      'after boxes that are skipped',
      [ftyp, box('free', Buffer.alloc(50)), box('uuid', Buffer.alloc(40)), box('wide'), box('skip'), moov, mdat],
      at(ftyp.length + 58 + 48 + 8 + 8, moov.length),
    ],
    [
      'after a free box with a size in 64 bits',
      [ftyp, longBox('free', Buffer.alloc(9)), moov, mdat],
      at(45, moov.length),
    ],
  ])('is found %s', async (_title, parts, found) => {
    expect(await find(parts)).toEqual(found);
  });

  it('is looked for again when more has arrived, and never beyond', async () => {
    const parts = [ftyp, box('free', Buffer.alloc(50)), moov, mdat];
    const freeEnd = ftyp.length + 58;
    expect(await find(parts, 0)).toEqual({ atBytes: 16 });
    expect(await find(parts, 15)).toEqual({ atBytes: 16 });
    expect(await find(parts, 16)).toEqual({ atBytes: ftyp.length + 16 });
    expect(await find(parts, ftyp.length + 20)).toEqual({ atBytes: freeEnd + 16 });
    expect(await find(parts, freeEnd + 16)).toEqual({ atBytes: freeEnd + moov.length });
    expect(await find(parts, freeEnd + moov.length - 1)).toEqual({ atBytes: freeEnd + moov.length });
    expect(await find(parts, freeEnd + moov.length)).toEqual(at(freeEnd, moov.length));
  });

  it.each([
    ['the media data comes first', [ftyp, mdat, moov]],
    ['there is another box first', [ftyp, box('meta', Buffer.alloc(20)), moov, mdat]],
    ['it is fragmented', [ftyp, box('moov', Buffer.concat([tracks, box('mvex', Buffer.alloc(20))])), mdat]],
    ['it is no MP4', [Buffer.from('\u001aE\u00df\u00a3 is how Matroska begins, and so on and on', 'latin1')]],
    ['the file is empty', []],
    ['the file is too short for a box', [ftyp.subarray(0, 12)]],
    ['a box is smaller than its header', [resized(ftyp, 4), moov, mdat]],
    ['a box is larger than the file', [resized(ftyp, 5_000_000), moov, mdat]],
    ['a 64-bit size is smaller than the header', [longBox('free', Buffer.alloc(9), 15n), moov, mdat]],
    ['a 64-bit size is larger than the file', [longBox('free', Buffer.alloc(9), 2n ** 63n), moov, mdat]],
    ['a 64-bit size is zero', [longBox('free', Buffer.alloc(9), 0n), moov, mdat]],
    ['the index is larger than the file', [ftyp, resized(moov, 5_000_000), mdat]],
    ['a box in the index is larger than the index', [ftyp, box('moov', resized(box('mvhd'), 5000)), mdat]],
    ['a box in the index is smaller than its header', [ftyp, box('moov', resized(box('mvhd'), 3)), mdat]],
    ['the index ends within a header', [ftyp, box('moov', Buffer.concat([tracks, Buffer.alloc(5)])), mdat]],
    ['there are boxes without end', [ftyp, ...Array.from({ length: 100 }, () => box('free')), moov, mdat]],
  ])('is not there when %s', async (_title, parts) => {
    expect(await find(parts)).toBeUndefined();
  });
});
