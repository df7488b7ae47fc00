import type { Clock } from '../lib/clock.js';
import type { IngestPacket, Publication, PublishRequest } from './ingest.js';
import { TokenBucket } from './token-bucket.js';

/**
 * Several times what encoders send: 128 Mb/s with 240 frames a second. The burst is what they kept
 * while the network was away.
 */
const PACKETS = { burst: 30_000, perSecond: 2000 };
const BYTES = { burst: 256 * 2 ** 20, perSecond: 32 * 2 ** 20 };

export interface PublisherEvents {
  packet(packet: IngestPacket, flvBody?: Uint8Array): void;
  ended(): void;
}

/** One connection of an encoder. */
export class Publisher implements Publication {
  readonly liveStreamId: string;
  readonly #request: PublishRequest;
  readonly #clock: Clock;
  readonly #events: PublisherEvents;
  readonly #packets: TokenBucket;
  readonly #bytes: TokenBucket;
  #lastMs: number;
  #hasEnded = false;

  constructor(liveStreamId: string, request: PublishRequest, clock: Clock, events: PublisherEvents) {
    this.liveStreamId = liveStreamId;
    this.#request = request;
    this.#clock = clock;
    this.#events = events;
    this.#packets = new TokenBucket(PACKETS, clock);
    this.#bytes = new TokenBucket(BYTES, clock);
    this.#lastMs = clock.monotonicMs();
  }

  isSilent(limitMs: number): boolean {
    return this.#clock.monotonicMs() - this.#lastMs > limitMs;
  }

  write(packet: IngestPacket, flvBody?: Uint8Array): void {
    this.#lastMs = this.#clock.monotonicMs();
    if (this.#hasEnded) return;
    const isReasonable = this.#packets.take(1) && this.#bytes.take('data' in packet ? packet.data.length : 0);
    if (isReasonable) this.#events.packet(packet, flvBody);
    else this.close('The encoder sends much more than real time.');
  }

  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#events.ended();
  }

  close(reason: string): void {
    this.#request.disconnect(reason);
    this.end();
  }
}
