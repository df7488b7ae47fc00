/** Writes an MP4 with one H.264 track whose times are exactly the given ones, also those that no muxer writes. */
export interface Mp4Sample {
  readonly data: Buffer;
  readonly isKey: boolean;
  /** In ticks. Samples are in decode order. */
  readonly decodeTicks: number;
  readonly presentationTicks: number;
}

export interface Mp4Edit {
  /** In ticks of the track, -1 for an empty edit. */
  readonly mediaTime: number;
  readonly durationTicks: number;
}

export interface Mp4File {
  readonly timescale: number;
  readonly width: number;
  readonly height: number;
  readonly avcc: Buffer;
  readonly samples: readonly Mp4Sample[];
  /** Duration of the sample that is decoded last, in ticks. */
  readonly lastTicks: number;
  readonly edits?: readonly Mp4Edit[];
  /** Writes no composition offsets, so all times are those of decoding. */
  readonly withoutOffsets?: boolean;
}

const u16 = (...values: number[]): Buffer =>
  Buffer.concat(values.map((value) => Buffer.from([value >> 8, value & 255])));
const u32 = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, index) => {
    bytes.writeUInt32BE(value >>> 0, index * 4);
  });
  return bytes;
};
const box = (type: string, ...parts: Buffer[]): Buffer => {
  const content = Buffer.concat(parts);
  return Buffer.concat([u32(content.length + 8), Buffer.from(type, 'latin1'), content]);
};
const full = (type: string, ...parts: Buffer[]): Buffer => box(type, u32(0), ...parts);
const table = (type: string, rows: readonly (readonly number[])[]): Buffer =>
  full(type, u32(rows.length), ...rows.map((row) => u32(...row)));
const MATRIX = u32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000);

export const writeMp4File = (file: Mp4File): Buffer => {
  const { timescale, width, height, avcc, samples, lastTicks, edits } = file;
  const durationTicks = samples.at(-1)!.decodeTicks + lastTicks - samples[0]!.decodeTicks;
  const head = box('ftyp', Buffer.from('isom'), u32(512), Buffer.from('isomiso2avc1mp41'));
  const data = box('mdat', ...samples.map((sample) => sample.data));
  const entry = box(
    'avc1',
    Buffer.alloc(6),
    u16(1),
    Buffer.alloc(16),
    u16(width, height),
    u32(0x480000, 0x480000, 0),
    u16(1),
    Buffer.alloc(32),
    u16(24, 0xffff),
    box('avcC', avcc),
  );
  const durations = samples.map(
    ({ decodeTicks }, n) => (samples[n + 1]?.decodeTicks ?? decodeTicks + lastTicks) - decodeTicks,
  );
  const offsets = samples.map(({ decodeTicks, presentationTicks }) => presentationTicks - decodeTicks);
  const tables = [
    full('stsd', u32(1), entry),
    table(
      'stts',
      durations.map((duration) => [1, duration]),
    ),
    ...(file.withoutOffsets || offsets.every((offset) => offset === 0)
      ? []
      : [
          table(
            'ctts',
            offsets.map((offset) => [1, offset]),
          ),
        ]),
    table(
      'stss',
      samples.flatMap(({ isKey }, n) => (isKey ? [[n + 1]] : [])),
    ),
    table('stsc', [[1, samples.length, 1]]),
    full('stsz', u32(0, samples.length), u32(...samples.map((sample) => sample.data.length))),
    full('stco', u32(1, head.length + 8)),
  ];
  const edts = edits
    ? [
        box(
          'edts',
          full('elst', u32(edits.length), ...edits.map((edit) => u32(edit.durationTicks, edit.mediaTime, 0x10000))),
        ),
      ]
    : [];
  const track = box(
    'trak',
    box('tkhd', u32(3), u32(0, 0, 1, 0, durationTicks), Buffer.alloc(16), MATRIX, u32(width << 16, height << 16)),
    ...edts,
    box(
      'mdia',
      full('mdhd', u32(0, 0, timescale, durationTicks), u16(0x55c4, 0)),
      full('hdlr', u32(0), Buffer.from('vide'), Buffer.alloc(13)),
      box(
        'minf',
        box('vmhd', u32(1), Buffer.alloc(8)),
        box('dinf', full('dref', u32(1), box('url ', u32(1)))),
        box('stbl', ...tables),
      ),
    ),
  );
  // The movie has the time scale of the track, so edits are exact.
  const header = full(
    'mvhd',
    u32(0, 0, timescale, durationTicks, 0x10000),
    u16(0x100),
    Buffer.alloc(10),
    MATRIX,
    Buffer.alloc(24),
    u32(2),
  );
  return Buffer.concat([head, data, box('moov', header, track)]);
};
