/**
 * Kinora sends little. But FFmpeg takes over the chunk size of the server for what it sends, and
 * large chunks cost less: their messages are not copied, and have fewer headers.
 */
const CHUNK_SIZE = 65_536;
/** What applies until another size is set (RTMP 1.0, 5.4.1). */
const INITIAL_CHUNK_SIZE = 128;
/** Chunk streams: 2 is reserved for control messages; the other is any. */
const CONTROL_STREAM = 2;
const COMMAND_STREAM = 3;
/** Chunk streams of media, by message type, as most encoders use them. */
const MEDIA_STREAMS = { 8: 4, 9: 6, 18: 5 } as const;

const SET_CHUNK_SIZE = 1;
const ACKNOWLEDGEMENT = 3;
const USER_CONTROL = 4;
const WINDOW_ACKNOWLEDGEMENT_SIZE = 5;
const SET_PEER_BANDWIDTH = 6;
const AMF0_COMMAND = 20;

const STREAM_BEGIN = 0;
const PING_RESPONSE = 7;
/** The window is a limit that the peer may replace (RTMP 1.0, 5.4.5). */
const LIMIT_DYNAMIC = 2;

/** Messages of this time and later have an extended timestamp (RTMP 1.0, 5.3.1.3). */
const EXTENDED = 0xff_ffff;

/** Writes messages as chunks. */
export class ChunkWriter {
  private chunkSize = INITIAL_CHUNK_SIZE;

  constructor(private readonly send: (bytes: Buffer) => void) {}

  /** Sends the windows of both sides and the chunk size, before the response to `connect`. */
  connectionControls(windowBytes: number): void {
    const bandwidth = Buffer.alloc(5);
    bandwidth.writeUInt32BE(windowBytes, 0);
    bandwidth[4] = LIMIT_DYNAMIC;
    this.control(WINDOW_ACKNOWLEDGEMENT_SIZE, windowBytes);
    this.message(CONTROL_STREAM, SET_PEER_BANDWIDTH, 0, bandwidth);
    this.setChunkSize(CHUNK_SIZE);
  }

  /** @param bytes of the payload in chunks from now on */
  setChunkSize(bytes: number): void {
    this.control(SET_CHUNK_SIZE, bytes);
    this.chunkSize = bytes;
  }

  /** @param receivedBytes since the connection began; counted modulo 2^32 */
  acknowledgement(receivedBytes: number): void {
    this.control(ACKNOWLEDGEMENT, receivedBytes % 2 ** 32);
  }

  streamBegin(streamId: number): void {
    this.userControl(STREAM_BEGIN, streamId);
  }

  pingResponse(timestamp: number): void {
    this.userControl(PING_RESPONSE, timestamp);
  }

  /** @param body AMF0 */
  command(streamId: number, body: Uint8Array): void {
    this.message(COMMAND_STREAM, AMF0_COMMAND, streamId, body);
  }

  /**
   * Audio (8), video (9) or data (18).
   * @param timestamp milliseconds, modulo 2^32
   */
  media(typeId: keyof typeof MEDIA_STREAMS, streamId: number, timestamp: number, body: Uint8Array): void {
    this.message(MEDIA_STREAMS[typeId], typeId, streamId, body, timestamp);
  }

  private control(typeId: number, value: number): void {
    const payload = Buffer.alloc(4);
    payload.writeUInt32BE(value, 0);
    this.message(CONTROL_STREAM, typeId, 0, payload);
  }

  private userControl(event: number, value: number): void {
    const payload = Buffer.alloc(6);
    payload.writeUInt16BE(event, 0);
    payload.writeUInt32BE(value, 2);
    this.message(CONTROL_STREAM, USER_CONTROL, 0, payload);
  }

  /** One message in chunks of type 0 and 3. */
  private message(chunkStream: number, typeId: number, streamId: number, payload: Uint8Array, timestamp = 0): void {
    const extension = Buffer.alloc(timestamp >= EXTENDED ? 4 : 0);
    if (extension.length > 0) extension.writeUInt32BE(timestamp, 0);
    const header = Buffer.alloc(12);
    header[0] = chunkStream;
    header.writeUIntBE(Math.min(timestamp, EXTENDED), 1, 3);
    header.writeUIntBE(payload.length, 4, 3);
    header[7] = typeId;
    header.writeUInt32LE(streamId, 8);
    const parts: Uint8Array[] = [header, extension];
    for (let at = 0; at < payload.length; at += this.chunkSize) {
      if (at > 0) parts.push(Buffer.of(0xc0 | chunkStream), extension);
      parts.push(payload.subarray(at, at + this.chunkSize));
    }
    this.send(Buffer.concat(parts));
  }
}
