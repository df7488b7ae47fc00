import type { Clock } from '../../lib/clock.js';
import { isKinoraError } from '../../lib/errors.js';
import type { Logger } from '../../telemetry/logger.js';
import type { AttemptLimit } from '../attempt-limit.js';
import type { IngestTarget, Publication, Refusal } from '../ingest.js';
import { type Amf0Value, readAmf0, writeAmf0 } from './amf0.js';
import { type ChunkLimits, ChunkReader, type RtmpMessage } from './chunk-reader.js';
import { ChunkWriter } from './chunk-writer.js';
import { SUPPORTED_FOUR_CCS } from './flv-tags.js';
import { Handshake } from './handshake.js';
import { AGGREGATE, AMF0_DATA, AMF3_DATA, AUDIO, MediaReader, VIDEO, withoutAmf3Marker } from './media-reader.js';
import { addressGroup } from './peer-address.js';
import { streamKeyOf } from './stream-key.js';

/** The socket of a session. */
export interface RtmpTransport {
  send(bytes: Uint8Array): void;
  /** Stops and continues reading. Reads that have happened may still arrive. */
  pause(): void;
  resume(): void;
  /** Sends what was given to `send`, and closes. */
  close(): void;
}

export interface RtmpSessionOptions {
  /** IP address of the encoder. */
  readonly peer: string;
  readonly transport: RtmpTransport;
  readonly target: IngestTarget;
  readonly failedKeys: AttemptLimit;
  readonly logger: Logger;
  readonly clock: Clock;
  /** From the connection to an accepted publication. */
  readonly publishTimeoutMs: number;
  /** The longest pause between two messages of a publisher. */
  readonly idleTimeoutMs: number;
}

const USER_CONTROL = 4;
const WINDOW_ACKNOWLEDGEMENT_SIZE = 5;
const AMF3_COMMAND = 17;
const AMF0_COMMAND = 20;
const PING_REQUEST = 6;

/** Commands are short; nobody unknown gets more memory. */
const STRANGER_LIMITS: ChunkLimits = { messageBytes: 64 * 1024, pendingBytes: 256 * 1024 };
/** A key frame at 100 Mb/s has about 2 MiB. */
const PUBLISHER_LIMITS: ChunkLimits = { messageBytes: 8 * 2 ** 20, pendingBytes: 16 * 2 ** 20 };
/** Of what arrives while the key is looked up: what was read before the socket was paused. */
const MAX_WAITING_MESSAGES = 4096;
const MAX_WAITING_BYTES = 16 * 2 ** 20;
/** As other servers do. */
const WINDOW_BYTES = 2_500_000;
const STREAM_ID = 1;

/**
 * - `handshake`: nothing is known of the peer
 * - `connected`: it sends commands
 * - `deciding`: it has sent its key, and waits
 * - `publishing`: packets are written
 * - `closed`: everything that still arrives is dropped
 */
type State = 'handshake' | 'connected' | 'deciding' | 'publishing' | 'closed';

/** The server's side of one RTMP connection, without its socket. */
export class RtmpSession {
  private state: State = 'handshake';
  private readonly handshake: Handshake;
  private readonly reader = new ChunkReader((message) => this.onMessage(message), STRANGER_LIMITS);
  private readonly writer: ChunkWriter;
  private media = this.createMediaReader();
  private publication: Publication | undefined;
  private app = '';
  /** How many have been asked for. */
  private publications = 0;
  /** Messages that arrived in state `deciding`. */
  private waiting: RtmpMessage[] = [];
  private waitingBytes = 0;
  private receivedBytes = 0;
  private acknowledgedBytes = 0;
  private windowBytes = WINDOW_BYTES;
  /** Of the state's beginning, or while publishing of the last message. */
  private sinceMs: number;

  constructor(private readonly options: RtmpSessionOptions) {
    this.sinceMs = options.clock.monotonicMs();
    this.handshake = new Handshake('server', (bytes) => options.transport.send(bytes));
    this.writer = new ChunkWriter((bytes) => options.transport.send(bytes));
  }

  /** Takes what was read from the socket; never throws. */
  receive(data: Buffer): void {
    if (this.state === 'closed') return;
    this.receivedBytes += data.length;
    try {
      let rest = data;
      if (this.state === 'handshake') {
        rest = this.handshake.push(data);
        if (this.handshake.isComplete) this.state = 'connected';
      }
      this.reader.push(rest);
    } catch (error) {
      this.fail(error);
    }
    this.acknowledgeUnlessMore();
  }

  /** Ends the connection if the peer has been silent or undecided for too long. */
  checkTimeout(): void {
    const { clock, publishTimeoutMs, idleTimeoutMs } = this.options;
    const elapsedMs = clock.monotonicMs() - this.sinceMs;
    if (this.state === 'publishing') {
      if (elapsedMs >= idleTimeoutMs) this.close('The encoder has stopped sending.');
    } else if (elapsedMs >= publishTimeoutMs) this.close('No stream was published in time.');
  }

  /** Tells the encoder why, and ends the connection. */
  close(reason: string): void {
    this.end('NetConnection.Connect.Closed', reason);
  }

  /** The socket has closed. */
  closed(reason: string): void {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.endPublication(reason);
  }

  private createMediaReader(): MediaReader {
    return new MediaReader((packet, flvBody) => this.publication?.write(packet, flvBody));
  }

  private onMessage(message: RtmpMessage): void {
    if (this.state === 'deciding') this.wait(message);
    else if (this.state !== 'closed') this.handle(message);
  }

  private wait(message: RtmpMessage): void {
    this.waiting.push(message);
    this.waitingBytes += message.payload.length;
    if (this.waiting.length > MAX_WAITING_MESSAGES || this.waitingBytes > MAX_WAITING_BYTES)
      this.close('The encoder has sent too much before it was accepted.');
  }

  private handle({ typeId, streamId, timestamp, payload }: RtmpMessage): void {
    switch (typeId) {
      case AUDIO:
      case VIDEO:
      case AMF0_DATA:
      case AMF3_DATA:
      case AGGREGATE:
        if (this.state === 'publishing') this.readMedia(typeId, timestamp, payload);
        break;
      case AMF0_COMMAND:
      case AMF3_COMMAND:
        this.onCommand(readAmf0(withoutAmf3Marker(payload)), streamId);
        break;
      case USER_CONTROL:
        if (payload.length >= 6 && payload.readUInt16BE(0) === PING_REQUEST)
          this.writer.pingResponse(payload.readUInt32BE(2));
        break;
      case WINDOW_ACKNOWLEDGEMENT_SIZE:
        if (payload.length >= 4) this.windowBytes = Math.max(1, payload.readUInt32BE(0));
        break;
      default:
        // Acknowledgements, bandwidths, shared objects: nothing depends on them.
        break;
    }
    if (this.state === 'publishing') this.sinceMs = this.options.clock.monotonicMs();
  }

  private readMedia(typeId: number, timestamp: number, payload: Buffer): void {
    const problem = this.media.read(typeId, timestamp, payload);
    if (problem !== undefined) this.end('NetStream.Publish.Denied', problem);
  }

  /** Commands of NetConnection and NetStream (RTMP 1.0, 7.2). */
  private onCommand([name, transaction, ...values]: readonly Amf0Value[], streamId: number): void {
    const transactionId = typeof transaction === 'number' ? transaction : 0;
    switch (name) {
      case 'connect':
        this.onConnect(transactionId, values[0]);
        break;
      case 'createStream':
        this.sendCommand(0, '_result', transactionId, null, STREAM_ID);
        break;
      case 'releaseStream':
      case 'FCPublish':
        this.sendCommand(0, '_result', transactionId, null, undefined);
        break;
      case 'publish':
        this.onPublish(values[1], streamId);
        break;
      case 'FCUnpublish':
      case 'closeStream':
      case 'deleteStream':
        this.unpublish();
        break;
      case 'play':
      case 'play2':
        this.end('NetStream.Play.Failed', 'This server only receives streams. Players use the HLS URL of the stream.');
        break;
      default:
        // Responses have a transaction too, but need no response.
        if (transactionId !== 0 && typeof name === 'string' && !/^(_result|_error|on)/.test(name))
          this.sendCommand(
            0,
            '_error',
            transactionId,
            null,
            errorInfo('NetConnection.Call.Failed', 'Unknown command.'),
          );
        break;
    }
  }

  private onConnect(transactionId: number, properties: Amf0Value): void {
    const app = properties instanceof Map ? properties.get('app') : undefined;
    if (typeof app === 'string') this.app = app;
    this.writer.connectionControls(WINDOW_BYTES);
    this.sendCommand(
      0,
      '_result',
      transactionId,
      object({ fmsVer: 'FMS/3,5,7,7009', capabilities: 31 }),
      object({
        level: 'status',
        code: 'NetConnection.Connect.Success',
        description: 'Connection succeeded.',
        // Commands are AMF0 in both directions, whatever the client offers.
        objectEncoding: 0,
        // Enhanced RTMP: what can be recorded.
        fourCcList: SUPPORTED_FOUR_CCS,
      }),
    );
  }

  private onPublish(name: Amf0Value, streamId: number): void {
    if (this.state !== 'connected') return;
    const streamKey = streamKeyOf(this.app, typeof name === 'string' ? name : '');
    const { peer, failedKeys, transport } = this.options;
    if (streamKey === undefined) {
      this.onRefusal({ reason: 'unknown_key', message: 'The stream key is missing.' });
    } else if (failedKeys.isReached(addressGroup(peer))) {
      this.onRefusal({ reason: 'rate_limited', message: 'Too many wrong stream keys; try again in a minute.' });
    } else {
      this.state = 'deciding';
      transport.pause();
      this.reader.setLimits(PUBLISHER_LIMITS);
      this.decide(streamKey, streamId).catch((error: unknown) => this.fail(error));
    }
  }

  private async decide(streamKey: string, streamId: number): Promise<void> {
    const { peer, target, transport } = this.options;
    this.publications += 1;
    const ordinal = this.publications;
    const disconnect = (reason: string): void => {
      // The encoder may have begun another publication.
      if (ordinal === this.publications) this.end('NetStream.Publish.Denied', reason);
    };
    const result = await target.publish({ streamKey, protocol: 'rtmp', peer, disconnect });
    if (this.state !== 'deciding') {
      // The encoder has gone.
      if (!('reason' in result)) result.end('The connection has ended.');
      return;
    }
    if ('reason' in result) {
      this.onRefusal(result);
      return;
    }
    this.publication = result;
    this.media = this.createMediaReader();
    this.state = 'publishing';
    this.sinceMs = this.options.clock.monotonicMs();
    this.options.logger.info({ peer, live_stream_id: result.liveStreamId }, 'RTMP encoder connected');
    this.writer.streamBegin(STREAM_ID);
    this.sendStatus(streamId, 'status', 'NetStream.Publish.Start', 'The stream is being received.');
    transport.resume();
    const { waiting } = this;
    this.waiting = [];
    this.waitingBytes = 0;
    for (const message of waiting) this.onMessage(message);
    this.acknowledgeUnlessMore();
  }

  private onRefusal({ reason, message, liveStreamId }: Refusal): void {
    if (reason === 'unknown_key') this.options.failedKeys.add(addressGroup(this.options.peer));
    const isKeyProblem = reason === 'unknown_key' || reason === 'disabled' || reason === 'in_use';
    this.end(isKeyProblem ? 'NetStream.Publish.BadName' : 'NetStream.Publish.Denied', message, liveStreamId);
  }

  /** The encoder may publish again. */
  private unpublish(): void {
    if (this.state !== 'publishing') return;
    this.state = 'connected';
    this.sinceMs = this.options.clock.monotonicMs();
    this.reader.setLimits(STRANGER_LIMITS);
    this.sendStatus(STREAM_ID, 'status', 'NetStream.Unpublish.Success', 'The stream has ended.');
    this.endPublication('The encoder has ended the stream.');
  }

  /** An error of the parser is the peer's; any other is ours. */
  private fail(error: unknown): void {
    const isOfPeer = isKinoraError(error, 'invalid_parameters');
    if (!isOfPeer) this.options.logger.error({ peer: this.options.peer, error }, 'RTMP connection failed');
    this.end('NetConnection.Connect.Closed', isOfPeer ? error.message : 'The server has failed; try again.');
  }

  private end(code: string, reason: string, liveStreamId?: string): void {
    if (this.state === 'closed') return;
    const { peer, transport, logger } = this.options;
    // Scanners of ports are no news.
    if (this.state === 'handshake') logger.debug({ peer, reason }, 'RTMP handshake failed');
    else {
      this.sendStatus(STREAM_ID, 'error', code, reason);
      if (!this.publication) logger.info({ peer, reason, live_stream_id: liveStreamId }, 'RTMP encoder refused');
    }
    this.state = 'closed';
    this.waiting = [];
    transport.close();
    this.endPublication(reason);
  }

  private endPublication(reason: string): void {
    const { publication } = this;
    if (!publication) return;
    this.publication = undefined;
    const { peer, logger } = this.options;
    const { liveStreamId: live_stream_id } = publication;
    logger.info({ peer, live_stream_id, reason, bytes: this.receivedBytes }, 'RTMP encoder disconnected');
    publication.end(reason);
  }

  /**
   * Acknowledges once everything that has arrived has been read. An encoder may have closed its
   * socket: the first bytes that it gets then make its kernel drop what it has not delivered. One
   * that waits for an acknowledgement sends nothing more, so it gets one.
   */
  private acknowledgeUnlessMore(): void {
    if (this.receivedBytes - this.acknowledgedBytes < this.windowBytes) return;
    const { receivedBytes } = this;
    // The first turn ends the reads of now. In the second, all that was left is read.
    setImmediate(() =>
      setImmediate(() => {
        if (this.state === 'closed' || this.state === 'deciding' || this.receivedBytes > receivedBytes) return;
        this.acknowledgedBytes = receivedBytes;
        this.writer.acknowledgement(receivedBytes);
      }),
    );
  }

  private sendStatus(streamId: number, level: 'status' | 'error', code: string, description: string): void {
    this.sendCommand(streamId, 'onStatus', 0, null, object({ level, code, description }));
  }

  private sendCommand(streamId: number, ...values: readonly Amf0Value[]): void {
    this.writer.command(streamId, writeAmf0(...values));
  }
}

const object = (properties: Readonly<Record<string, Amf0Value>>): ReadonlyMap<string, Amf0Value> =>
  new Map(Object.entries(properties));

const errorInfo = (code: string, description: string): Amf0Value => object({ level: 'error', code, description });
