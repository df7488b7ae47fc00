const box = (type: string, ...content: readonly Buffer[]): Buffer => {
  const bytes = Buffer.concat([Buffer.alloc(8), ...content]);
  bytes.writeUInt32BE(bytes.length);
  bytes.write(type, 4, 'latin1');
  return bytes;
};
const numbers = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [i, value] of values.entries()) bytes.writeUInt32BE(value, 4 * i);
  return bytes;
};
const text = (value: string): Buffer => Buffer.from(value, 'latin1');
const NORMAL_RATE = 0x1_0000;

/**
 * A small MP4 of one video track with `samples` samples, all of which each of `edits` edits shows
 * again.
 */
export const manyEdits = (edits: number, samples: number): Buffer => {
  const sampleEntry = Buffer.alloc(78);
  sampleEntry.writeUInt16BE(1, 6);
  sampleEntry.writeUInt16BE(320, 24);
  sampleEntry.writeUInt16BE(180, 26);
  const tables = box(
    'stbl',
    box('stsd', numbers(0, 1), box('mp4v', sampleEntry)),
    box('stts', numbers(0, 1, samples, 1)),
    box('stsc', numbers(0, 1, 1, samples, 1)),
    box('stsz', numbers(0, 1, samples)),
    box('stco', numbers(0, 1, 40)),
  );
  const media = box(
    'mdia',
    box('mdhd', numbers(0, 0, 0, 1000, 10_000, 0x55c4_0000)),
    box('hdlr', numbers(0, 0), text('vide'), Buffer.alloc(13)),
    box('minf', tables),
  );
  const header = box('tkhd', numbers(3, 0, 0, 1, 0, 10_000), Buffer.alloc(52), numbers(320 << 16, 180 << 16));
  const list = box('elst', numbers(0, edits), ...Array<Buffer>(edits).fill(numbers(1000, 0, NORMAL_RATE)));
  const track = box('trak', header, box('edts', list), media);
  const movie = box('mvhd', numbers(0, 0, 0, 1000, 10_000, NORMAL_RATE), Buffer.alloc(76), numbers(2));
  return Buffer.concat([box('ftyp', text('isom'), numbers(512), text('isommp41')), box('moov', movie, track)]);
};
