import { type Amf0Value, readAmf0, writeAmf0 } from './amf0.js';
import { ChunkReader, type RtmpMessage } from './chunk-reader.js';
import { ChunkWriter } from './chunk-writer.js';
import { SUPPORTED_FOUR_CCS } from './flv-tags.js';
import { Handshake } from './handshake.js';
import { withoutAmf3Marker } from './media-reader.js';

export interface RtmpClientOptions {
  readonly app: string;
  /** The URL of the application, without the stream key. */
  readonly tcUrl: string;
  readonly streamKey: string;
  /** Sends bytes to the server. */
  readonly send: (bytes: Buffer) => void;
  /** The server has accepted the stream key: media may be sent. */
  readonly onPublishing: () => void;
  /**
   * The server has refused the stream or ended it. `code` is its status code, such as
   * `NetStream.Publish.BadName`, if that is a plausible one.
   */
  readonly onRefused: (code: string | undefined) => void;
}

const USER_CONTROL = 4;
const WINDOW_ACKNOWLEDGEMENT_SIZE = 5;
const AMF3_COMMAND = 17;
const AMF0_COMMAND = 20;
const PING_REQUEST = 6;

/** Of commands, in the order in which they are sent. */
const TRANSACTIONS = { connect: 1, releaseStream: 2, FCPublish: 3, createStream: 4, publish: 5, FCUnpublish: 6 };

/** Servers send commands only. */
const LIMITS = { messageBytes: 64 * 1024, pendingBytes: 256 * 1024 };
/** As OBS does; some servers take no larger chunks. */
const CHUNK_SIZE = 4096;
const WINDOW_BYTES = 2_500_000;

/** The publisher's side of one RTMP connection, without its socket (RTMP 1.0, 7.2). */
export class RtmpClient {
  readonly #options: RtmpClientOptions;
  readonly #handshake: Handshake;
  readonly #reader = new ChunkReader((message) => this.#onMessage(message), LIMITS);
  readonly #writer: ChunkWriter;
  #isConnecting = false;
  #isPublishing = false;
  #streamId = 0;
  #receivedBytes = 0;
  #acknowledgedBytes = 0;
  #windowBytes = WINDOW_BYTES;

  /** Begins the handshake. */
  constructor(options: RtmpClientOptions) {
    this.#options = options;
    this.#writer = new ChunkWriter(options.send);
    this.#handshake = new Handshake('client', options.send);
  }

  /**
   * Takes what was read from the socket.
   * @throws KinoraError `invalid_parameters` if the server does not speak RTMP
   */
  receive(data: Buffer): void {
    this.#receivedBytes += data.length;
    const rest = this.#handshake.isComplete ? data : this.#handshake.push(data);
    if (!this.#handshake.isComplete) return;
    if (!this.#isConnecting) this.#connect();
    this.#reader.push(rest);
    if (this.#receivedBytes - this.#acknowledgedBytes < this.#windowBytes) return;
    this.#acknowledgedBytes = this.#receivedBytes;
    this.#writer.acknowledgement(this.#receivedBytes);
  }

  /** @param timestamp milliseconds, modulo 2^32 */
  media(typeId: 8 | 9 | 18, timestamp: number, body: Uint8Array): void {
    this.#writer.media(typeId, this.#streamId, timestamp, body);
  }

  /** Tells the server that the stream has ended. */
  unpublish(): void {
    if (!this.#isPublishing) return;
    this.#isPublishing = false;
    this.#call(0, 'FCUnpublish', null, this.#options.streamKey);
    this.#writer.command(0, writeAmf0('deleteStream', 0, null, this.#streamId));
  }

  #connect(): void {
    this.#isConnecting = true;
    const { app, tcUrl } = this.#options;
    const properties: Readonly<Record<string, Amf0Value>> = {
      app,
      type: 'nonprivate',
      flashVer: 'FMLE/3.0 (compatible; Kinora)',
      tcUrl,
      // Enhanced RTMP: what may be sent.
      fourCcList: SUPPORTED_FOUR_CCS,
    };
    this.#call(0, 'connect', new Map(Object.entries(properties)));
  }

  #onMessage({ typeId, payload }: RtmpMessage): void {
    if (typeId === AMF0_COMMAND || typeId === AMF3_COMMAND) this.#onCommand(readAmf0(withoutAmf3Marker(payload)));
    else if (typeId === USER_CONTROL && payload.length >= 6 && payload.readUInt16BE(0) === PING_REQUEST)
      this.#writer.pingResponse(payload.readUInt32BE(2));
    else if (typeId === WINDOW_ACKNOWLEDGEMENT_SIZE && payload.length >= 4)
      this.#windowBytes = Math.max(1, payload.readUInt32BE(0));
  }

  #onCommand([name, transaction, , value]: readonly Amf0Value[]): void {
    if (name === '_result' && transaction === TRANSACTIONS.connect) this.#createStream();
    else if (name === '_result' && transaction === TRANSACTIONS.createStream) this.#publish(value);
    else if (name === 'onStatus') this.#onStatus(value);
    else if (name === 'close') this.#options.onRefused(undefined);
    else if (name === '_error' && isRequired(transaction)) this.#options.onRefused(codeOf(value));
  }

  #createStream(): void {
    const { streamKey } = this.#options;
    this.#writer.setChunkSize(CHUNK_SIZE);
    this.#call(0, 'releaseStream', null, streamKey);
    this.#call(0, 'FCPublish', null, streamKey);
    this.#call(0, 'createStream', null);
  }

  #publish(streamId: Amf0Value): void {
    if (typeof streamId !== 'number') {
      this.#options.onRefused(undefined);
      return;
    }
    this.#streamId = streamId >>> 0;
    this.#call(this.#streamId, 'publish', null, this.#options.streamKey, 'live');
  }

  #onStatus(info: Amf0Value): void {
    if (!(info instanceof Map)) return;
    if (info.get('level') === 'error') this.#options.onRefused(codeOf(info));
    else if (info.get('code') === 'NetStream.Publish.Start' && !this.#isPublishing) {
      this.#isPublishing = true;
      this.#options.onPublishing();
    }
  }

  #call(streamId: number, name: keyof typeof TRANSACTIONS, ...values: readonly Amf0Value[]): void {
    this.#writer.command(streamId, writeAmf0(name, TRANSACTIONS[name], ...values));
  }
}

/** Servers may not know the others. */
const isRequired = (transaction: Amf0Value): boolean =>
  transaction === TRANSACTIONS.connect ||
  transaction === TRANSACTIONS.createStream ||
  transaction === TRANSACTIONS.publish;

/** Whatever else the server writes does not get into logs. */
const codeOf = (info: Amf0Value): string | undefined => {
  const code = info instanceof Map ? info.get('code') : undefined;
  return typeof code === 'string' && /^Net[A-Za-z.]{1,60}$/.test(code) ? code : undefined;
};
