import type { Socket } from 'node:net';
import type { ConnectionOpener } from '../../net/open-connection.js';
import { RtmpClient } from '../rtmp/rtmp-client.js';
import { type ConnectionFailure, failureOf } from './connection-failure.js';
import type { RtmpDestination } from './rtmp-destination.js';
import type { Message } from './send-queue.js';
import type { TargetConnection } from './target-connection.js';
import { untilAccepted } from './until-accepted.js';

const TYPES = { audio: 8, 'audio-config': 8, video: 9, 'video-config': 9, metadata: 18 } as const;

/** From the connection to the accepted stream key. */
const ACCEPT_MS = 10_000;
/** A service that takes nothing for so long is away. */
const STALL_MS = 10_000;
/** How long the last messages may take. */
const CLOSE_MS = 2000;
/** Services say little. */
const MAX_RECEIVED_BYTES = 16 * 2 ** 20;

/** A connection to a service that has accepted the stream. */
export class RtmpConnection implements TargetConnection {
  readonly #socket: Socket;
  readonly #client: RtmpClient;
  readonly #stallMs: number;
  readonly #accepted: Promise<void>;
  #accept: () => void = () => undefined;
  #lose: (failure: ConnectionFailure) => void = () => undefined;
  #stallTimer: NodeJS.Timeout | undefined;
  #receivedBytes = 0;
  #isAccepted = false;
  readonly lost: Promise<ConnectionFailure>;
  onDrain: () => void = () => undefined;

  private constructor(socket: Socket, { app, tcUrl, streamKey }: RtmpDestination, stallMs: number) {
    this.#socket = socket;
    this.#stallMs = stallMs;
    this.lost = new Promise((resolve) => {
      this.#lose = (failure) => {
        resolve(failure);
        socket.destroy();
      };
    });
    this.#accepted = new Promise((resolve) => {
      this.#accept = resolve;
    });
    this.#client = new RtmpClient({
      ...{ app, tcUrl, streamKey },
      send: (bytes) => this.#write(bytes),
      onPublishing: () => {
        this.#isAccepted = true;
        this.#accept();
      },
      onRefused: (code = 'refused') => this.#lose({ code, kind: 'refused' }),
    });
    socket.on('data', (data) => this.#receive(data));
    socket.on('drain', () => {
      clearTimeout(this.#stallTimer);
      this.#stallTimer = undefined;
      this.onDrain();
    });
    socket.on('error', (error) => this.#lose(failureOf(error)));
    socket.on('close', () => {
      clearTimeout(this.#stallTimer);
      // Many services close the connection when the stream key is wrong.
      this.#lose({ code: 'closed', kind: this.#isAccepted ? 'lost' : 'refused' });
    });
  }

  /**
   * Connects, and publishes the stream.
   * @param stallMs a service that takes nothing for so long is away
   * @throws ConnectionError, or an error for `failureOf`, or the reason of `signal`
   */
  static async open(
    opener: ConnectionOpener,
    destination: RtmpDestination,
    signal: AbortSignal,
    stallMs = STALL_MS,
  ): Promise<RtmpConnection> {
    const socket = await opener.open(destination, signal);
    const connection = new RtmpConnection(socket, destination, stallMs);
    const attempt = { accepted: connection.#accepted, lost: connection.lost, lose: connection.#lose };
    await untilAccepted(attempt, { signal, limitMs: ACCEPT_MS });
    return connection;
  }

  get isBlocked(): boolean {
    return !this.#socket.writable || this.#socket.writableNeedDrain;
  }

  send({ kind, timestamp, body }: Message): void {
    this.#client.media(TYPES[kind], timestamp, body);
  }

  async close(): Promise<void> {
    this.#client.unpublish();
    this.#socket.end();
    const timer = setTimeout(() => this.#socket.destroy(), CLOSE_MS);
    await this.lost;
    clearTimeout(timer);
  }

  #receive(data: Buffer): void {
    this.#receivedBytes += data.length;
    try {
      if (this.#receivedBytes > MAX_RECEIVED_BYTES) this.#lose({ code: 'no_rtmp', kind: 'refused' });
      else this.#client.receive(data);
    } catch (error) {
      this.#lose(failureOf(error));
    }
  }

  #write(bytes: Buffer): void {
    if (!this.#socket.writable || this.#socket.write(bytes)) return;
    this.#stallTimer ??= setTimeout(() => this.#lose({ code: 'stalled', kind: 'lost' }), this.#stallMs);
  }
}
