import type { Clock } from '../../lib/clock.js';
import type { Logger } from '../../telemetry/logger.js';
import type { Publication } from '../ingest.js';
import type { StreamKeys } from './key-material.js';
import type { ControlPacket, DataPacket } from './packets.js';
import { SrtReceiver } from './srt-receiver.js';
import { TransportReader } from './transport-reader.js';

export interface SrtSessionOptions {
  /** IP address of the encoder. */
  readonly peer: string;
  readonly publication: Publication;
  readonly connection: {
    readonly peerSocketId: number;
    readonly initialSequence: number;
    readonly latencyMs: number;
    readonly keys: StreamKeys;
    readonly readKeys: (message: Buffer) => StreamKeys | undefined;
  };
  readonly send: (packet: Buffer) => void;
  /** Called once. */
  readonly onEnd: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** One encoder that was accepted: from packets of its connection to those of a recording. */
export class SrtSession {
  readonly #options: SrtSessionOptions;
  readonly #receiver: SrtReceiver;
  readonly #reader: TransportReader;
  #bytes = 0;
  #lostPackets = 0;

  constructor(options: SrtSessionOptions) {
    const { publication, connection, clock, send, peer, logger } = options;
    this.#options = options;
    this.#reader = new TransportReader((packet) => publication.write(packet));
    this.#receiver = new SrtReceiver({
      ...connection,
      ...{ clock, send },
      onPayload: (payload) => this.#read(payload),
      onLost: (packets) => {
        this.#lostPackets += packets;
        this.#reader.lose(packets);
      },
      onEnd: (reason, isComplete) => this.#end(reason, isComplete),
    });
    logger.info({ peer, live_stream_id: publication.liveStreamId }, 'SRT encoder connected');
  }

  get liveStreamId(): string {
    return this.#options.publication.liveStreamId;
  }

  receive(packet: DataPacket | ControlPacket): void {
    this.#receiver.receive(packet);
  }

  tick(): void {
    this.#receiver.tick();
  }

  /** Tells the encoder that the connection has ended. SRT has no words for the reason. */
  close(reason: string): void {
    this.#receiver.close(reason);
  }

  #read(payload: Buffer): void {
    this.#bytes += payload.length;
    const problem = this.#reader.push(payload);
    if (problem !== undefined) this.close(problem);
  }

  /** The last frame of a connection that breaks off is cut off, too. */
  #end(reason: string, isComplete: boolean): void {
    const { peer, publication, logger, onEnd } = this.#options;
    try {
      if (isComplete) this.#reader.flush();
    } finally {
      const facts = { peer, live_stream_id: this.liveStreamId, reason };
      logger.info({ ...facts, bytes: this.#bytes, lost_packets: this.#lostPackets }, 'SRT encoder disconnected');
      onEnd();
      publication.end(reason);
    }
  }
}
