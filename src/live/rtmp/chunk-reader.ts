import { invalidParameters } from '../../lib/errors.js';

/** A complete message (RTMP 1.0, 6). */
export interface RtmpMessage {
  readonly typeId: number;
  readonly streamId: number;
  /** Milliseconds, modulo 2^32. */
  readonly timestamp: number;
  /** Never changes: it is a copy, or a part of a read that nothing is written to any more. */
  readonly payload: Buffer;
}

export interface ChunkLimits {
  /** Longer messages end the connection. */
  readonly messageBytes: number;
  /** Of all messages that have begun and are not complete. */
  readonly pendingBytes: number;
}

const SET_CHUNK_SIZE = 1;
const ABORT = 2;
/** Encoders use fewer than ten. */
const MAX_CHUNK_STREAMS = 64;
/** No message is longer than this, so larger values mean the same. */
const MAX_CHUNK_SIZE = 0xff_ffff;
const EXTENDED = 0xff_ffff;
/** Sizes of the message header by chunk type (RTMP 1.0, 5.3.1.2). */
const MESSAGE_HEADER_SIZES = [11, 7, 3, 0] as const;
/** Basic header, message header and extended timestamp at their largest. */
const MAX_HEADER = 3 + 11 + 4;

/** What chunks of a chunk stream inherit from those before them. */
interface ChunkStream {
  timestamp: number;
  delta: number;
  /** The extended timestamp of the last header that had a timestamp, if it had one. */
  extended: number | undefined;
  length: number;
  typeId: number;
  streamId: number;
  /** Of a message that has begun. */
  payload: Buffer | undefined;
  receivedBytes: number;
}

/**
 * Joins chunks to messages (RTMP 1.0, 5.3), for reads that may end anywhere. `SetChunkSize` and
 * `Abort` take effect here; all other messages go to `onMessage`, synchronously.
 */
export class ChunkReader {
  private readonly streams = new Map<number, ChunkStream>();
  /** The beginning of a header whose rest comes with the next read. */
  private readonly header = Buffer.alloc(MAX_HEADER);
  private headerBytes = 0;
  private chunkSize = 128;
  /** Whose payload comes next; undefined before a header. */
  private current: ChunkStream | undefined;
  private chunkBytesLeft = 0;
  private pendingBytes = 0;
  /**
   * Whether chunks of type 3 repeat the extended timestamp. The specification demands it, but some
   * encoders don't. The first such chunk shows the habit.
   */
  private repeatsExtended: boolean | undefined;

  constructor(
    private readonly onMessage: (message: RtmpMessage) => void,
    private limits: ChunkLimits,
  ) {}

  /** Applies to messages that begin from now on. */
  setLimits(limits: ChunkLimits): void {
    this.limits = limits;
  }

  /**
   * @param data must not be written to afterwards
   * @throws KinoraError `invalid_parameters` if these are no chunks, or exceed a limit; the
   * connection can't continue
   */
  push(data: Buffer): void {
    let at = 0;
    while (at < data.length) at = this.current ? this.readPayload(data, at) : this.readHeader(data, at);
  }

  /** @returns where the payload begins, or the end of `data` */
  private readHeader(data: Buffer, at: number): number {
    if (this.headerBytes === 0) {
      const size = this.beginChunk(data, at, data.length);
      if (size > 0) return this.readWholeMessage(data, at + size);
      this.headerBytes = data.copy(this.header, 0, at);
      return data.length;
    }
    const before = this.headerBytes;
    const copied = data.copy(this.header, before, at);
    this.headerBytes += copied;
    const size = this.beginChunk(this.header, 0, this.headerBytes);
    if (size === 0) return at + copied;
    this.headerBytes = 0;
    if (size >= before) return this.readWholeMessage(data, at + size - before);
    // What could have been an extended timestamp was payload.
    const rest = Buffer.from(this.header.subarray(size, before));
    this.push(rest.subarray(this.readWholeMessage(rest, 0)));
    return at;
  }

  /** Reads a header. @returns its size, or 0 if it is not complete, and then nothing has changed */
  private beginChunk(bytes: Buffer, start: number, end: number): number {
    const format = bytes[start]! >> 6;
    let id = bytes[start]! & 0x3f;
    const basicSize = id > 1 ? 1 : id + 2;
    const headerAt = start + basicSize;
    const headerSize = MESSAGE_HEADER_SIZES[format]!;
    let size = basicSize + headerSize;
    if (end - start < size) return 0;
    if (id === 0) id = 64 + bytes[start + 1]!;
    else if (id === 1) id = 64 + bytes.readUInt16LE(start + 1);

    const stream = this.streams.get(id);
    let time = format === 3 ? (stream?.extended ?? stream?.delta ?? 0) : bytes.readUIntBE(headerAt, 3);
    const hasExtended = format === 3 ? stream?.extended !== undefined : time === EXTENDED;
    if (hasExtended && (format < 3 || this.repeatsExtended !== false)) {
      if (end - start < size + 4) return 0;
      const extended = bytes.readUInt32BE(start + size);
      if (format < 3) time = extended;
      else this.repeatsExtended ??= extended === time;
      if (format < 3 || this.repeatsExtended) size += 4;
    }

    const changed = stream ?? this.addStream(id, format);
    if (format === 3 && changed.payload) this.continueMessage(changed);
    else this.beginMessage(changed, format, bytes, headerAt, time, hasExtended);
    return size;
  }

  private addStream(id: number, format: number): ChunkStream {
    // Some encoders begin with type 1.
    if (format > 1) throw invalidParameters('An RTMP chunk continues a chunk stream that has not begun.');
    if (this.streams.size === MAX_CHUNK_STREAMS) throw invalidParameters('Too many RTMP chunk streams.');
    const stream: ChunkStream = {
      timestamp: 0,
      delta: 0,
      extended: undefined,
      length: 0,
      typeId: 0,
      streamId: 0,
      payload: undefined,
      receivedBytes: 0,
    };
    this.streams.set(id, stream);
    return stream;
  }

  private continueMessage(stream: ChunkStream): void {
    this.current = stream;
    this.chunkBytesLeft = Math.min(this.chunkSize, stream.length - stream.receivedBytes);
  }

  private beginMessage(
    stream: ChunkStream,
    format: number,
    bytes: Buffer,
    at: number,
    time: number,
    hasExtended: boolean,
  ): void {
    if (stream.payload) throw invalidParameters('An RTMP message begins inside another one.');
    if (format < 2) {
      stream.length = bytes.readUIntBE(at + 3, 3);
      stream.typeId = bytes[at + 6]!;
    }
    if (format === 0) stream.streamId = bytes.readUInt32LE(at + 7);
    stream.extended = hasExtended ? time : undefined;
    // After a chunk of type 0, one of type 3 adds its timestamp (RTMP 1.0, 5.3.1.2.4).
    stream.delta = time;
    stream.timestamp = format === 0 ? time : (stream.timestamp + time) >>> 0;
    if (stream.length > this.limits.messageBytes) throw invalidParameters('An RTMP message is too long.');
    stream.receivedBytes = 0;
    this.current = stream;
    this.chunkBytesLeft = Math.min(this.chunkSize, stream.length);
  }

  /** Takes a message that lies in this read as a whole, without a copy. */
  private readWholeMessage(data: Buffer, at: number): number {
    const stream = this.current!;
    if (stream.payload) return at;
    const end = at + stream.length;
    if (this.chunkBytesLeft === stream.length && end <= data.length) {
      this.current = undefined;
      this.deliver(stream, data.subarray(at, end));
      return end;
    }
    this.pendingBytes += stream.length;
    if (this.pendingBytes > this.limits.pendingBytes) throw invalidParameters('Too many unfinished RTMP messages.');
    stream.payload = Buffer.allocUnsafe(stream.length);
    return at;
  }

  private readPayload(data: Buffer, at: number): number {
    const stream = this.current!;
    const payload = stream.payload!;
    const end = Math.min(data.length, at + this.chunkBytesLeft);
    data.copy(payload, stream.receivedBytes, at, end);
    stream.receivedBytes += end - at;
    this.chunkBytesLeft -= end - at;
    if (this.chunkBytesLeft > 0) return end;
    this.current = undefined;
    if (stream.receivedBytes === stream.length) {
      this.dropPayload(stream);
      this.deliver(stream, payload);
    }
    return end;
  }

  private dropPayload(stream: ChunkStream): void {
    if (stream.payload) this.pendingBytes -= stream.length;
    stream.payload = undefined;
  }

  private deliver({ typeId, streamId, timestamp }: ChunkStream, payload: Buffer): void {
    if (typeId === SET_CHUNK_SIZE) this.setChunkSize(payload);
    else if (typeId === ABORT) this.abort(payload);
    else this.onMessage({ typeId, streamId, timestamp, payload });
  }

  private setChunkSize(payload: Buffer): void {
    const size = payload.length < 4 ? 0 : payload.readUInt32BE(0);
    if (size === 0 || size > 0x7fff_ffff) throw invalidParameters('The RTMP chunk size is invalid.');
    this.chunkSize = Math.min(size, MAX_CHUNK_SIZE);
  }

  private abort(payload: Buffer): void {
    const stream = payload.length < 4 ? undefined : this.streams.get(payload.readUInt32BE(0));
    if (stream) this.dropPayload(stream);
  }
}
