import type { Clock } from '../lib/clock.js';
import type { IngestPacket, Publication, PublishRequest } from './ingest.js';

export interface PublisherEvents {
  packet(packet: IngestPacket): void;
  ended(): void;
}

/** One connection of an encoder. */
export class Publisher implements Publication {
  readonly #request: PublishRequest;
  readonly #clock: Clock;
  readonly #events: PublisherEvents;
  #lastMs: number;
  #hasEnded = false;

  constructor(request: PublishRequest, clock: Clock, events: PublisherEvents) {
    this.#request = request;
    this.#clock = clock;
    this.#events = events;
    this.#lastMs = clock.monotonicMs();
  }

  isSilent(limitMs: number): boolean {
    return this.#clock.monotonicMs() - this.#lastMs > limitMs;
  }

  write(packet: IngestPacket): void {
    this.#lastMs = this.#clock.monotonicMs();
    if (!this.#hasEnded) this.#events.packet(packet);
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
