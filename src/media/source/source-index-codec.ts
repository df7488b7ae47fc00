import { KinoraError } from '../../lib/errors.js';
import type { SourceIndex, StreamIndex } from './source-index.js';

/**
 * The stored form of a `SourceIndex`: `KIDX`, version, flags, then for each stream the count, the
 * last duration and four columns (times and positions as differences, sizes, key flags as bits).
 * Integers are variable-length, seven bits a byte, least significant first; signed ones zigzag.
 * About 8 bytes a packet.
 */
const MAGIC = [0x4b, 0x49, 0x44, 0x58] as const;
const VERSION = 1;
const HAS_VIDEO = 1;
const HAS_AUDIO = 2;
const DISCONTINUOUS = 4;
const HIDES_REFERENCES = 8;
/** More packets than 12 hours at 240 frames a second. */
const MAX_PACKETS = 12_000_000;

class ByteWriter {
  private bytes = new Uint8Array(1 << 16);
  private length = 0;

  byte(value: number): void {
    if (this.length === this.bytes.length) {
      const grown = new Uint8Array(this.bytes.length * 2);
      grown.set(this.bytes);
      this.bytes = grown;
    }
    this.bytes[this.length] = value;
    this.length += 1;
  }

  /** 0 to 2^53 - 1; bit operators stop at 32 bits. */
  unsigned(value: number): void {
    let rest = value;
    while (rest > 0x7fff_ffff) {
      this.byte((rest % 0x80) + 0x80);
      rest = Math.floor(rest / 0x80);
    }
    for (; rest >= 0x80; rest >>= 7) this.byte((rest & 0x7f) | 0x80);
    this.byte(rest);
  }

  signed(value: number): void {
    this.unsigned(value < 0 ? -value * 2 - 1 : value * 2);
  }

  finish(): Uint8Array {
    return this.bytes.slice(0, this.length);
  }
}

const broken = (reason: string): KinoraError =>
  new KinoraError('internal_error', { details: { stage: 'decode source index', reason } });

class ByteReader {
  private offset = 0;
  constructor(private readonly bytes: Uint8Array) {}

  byte(): number {
    const value = this.bytes[this.offset];
    if (value === undefined) throw broken('it ends too early');
    this.offset += 1;
    return value;
  }

  unsigned(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.byte();
      value += (byte % 0x80) * scale;
      if (!Number.isSafeInteger(value)) throw broken('a number is too large');
      if (byte < 0x80) return value;
      scale *= 0x80;
    }
  }

  signed(): number {
    const value = this.unsigned();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  get atEnd(): boolean {
    return this.offset === this.bytes.length;
  }
}

const writeStream = (writer: ByteWriter, stream: StreamIndex): void => {
  const { pts, key, size, position } = stream;
  writer.unsigned(pts.length);
  writer.unsigned(stream.lastDuration);
  const differences = (column: Float64Array): void => {
    let previous = 0;
    for (const value of column) {
      writer.signed(value - previous);
      previous = value;
    }
  };
  differences(pts);
  differences(position);
  for (const value of size) writer.unsigned(value);
  for (let start = 0; start < key.length; start += 8) {
    let bits = 0;
    for (let bit = 0; bit < 8; bit += 1) if (key[start + bit]) bits |= 1 << bit;
    writer.byte(bits);
  }
};

const readStream = (reader: ByteReader): StreamIndex => {
  const count = reader.unsigned();
  if (count > MAX_PACKETS) throw broken('too many packets');
  const lastDuration = reader.unsigned();
  if (lastDuration < 1) throw broken('the last duration is zero');
  const differences = (): Float64Array => {
    const column = new Float64Array(count);
    let previous = 0;
    for (let index = 0; index < count; index += 1) {
      previous += reader.signed();
      column[index] = previous;
    }
    return column;
  };
  const pts = differences();
  const position = differences();
  const size = new Uint32Array(count);
  for (let index = 0; index < count; index += 1) {
    const value = reader.unsigned();
    if (value > 0xffff_ffff) throw broken('a size is too large');
    size[index] = value;
  }
  const key = new Uint8Array(count);
  for (let start = 0; start < count; start += 8) {
    const bits = reader.byte();
    for (let bit = 0; bit < 8 && start + bit < count; bit += 1) key[start + bit] = (bits >> bit) & 1;
  }
  return { pts, key, size, position, lastDuration };
};

export const encodeSourceIndex = (index: SourceIndex): Uint8Array => {
  const writer = new ByteWriter();
  for (const byte of MAGIC) writer.byte(byte);
  writer.byte(VERSION);
  writer.byte(
    (index.video ? HAS_VIDEO : 0) |
      (index.audio ? HAS_AUDIO : 0) |
      (index.discontinuous ? DISCONTINUOUS : 0) |
      (index.video?.hidesReferences ? HIDES_REFERENCES : 0),
  );
  if (index.video) writeStream(writer, index.video);
  if (index.audio) writeStream(writer, index.audio);
  return writer.finish();
};

/**
 * @throws KinoraError `internal_error` for anything that `encodeSourceIndex` of this version did
 * not write.
 */
export const decodeSourceIndex = (bytes: Uint8Array): SourceIndex => {
  const reader = new ByteReader(bytes);
  for (const byte of MAGIC) if (reader.byte() !== byte) throw broken('it is not an index');
  const version = reader.byte();
  if (version !== VERSION) throw broken(`version ${version} is unknown`);
  const flags = reader.byte();
  const packets = flags & HAS_VIDEO ? readStream(reader) : undefined;
  const video = packets && (flags & HIDES_REFERENCES ? { ...packets, hidesReferences: true as const } : packets);
  const audio = flags & HAS_AUDIO ? readStream(reader) : undefined;
  if (flags > 15 || !reader.atEnd) throw broken('it is longer than it should be');
  return { ...(video && { video }), ...(audio && { audio }), discontinuous: (flags & DISCONTINUOUS) !== 0 };
};
