import { setTimeout as pause } from 'node:timers/promises';
import { createLinkedAbort } from '../../lib/linked-abort.js';

export interface HedgeOptions {
  /**
   * At most this share of requests is sent twice, so that a slow store does not get twice the load.
   */
  readonly maxShare: number;
  readonly nowMs?: () => number;
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** Dispose of it when the response was read: until then, it follows the signal of the caller. */
export interface Hedged<T> extends Disposable {
  readonly response: T;
}

/** Of the last ones. Until then, no request is sent twice. */
const MIN_SAMPLES = 20;
const MAX_SAMPLES = 200;
const QUANTILE = 0.95;
/** A response that is a little late costs less than a second request. */
const MIN_WAIT_MS = 20;
/** Second requests that may follow each other at once. */
const MAX_BURST = 4;

/**
 * Sends a request again when its response takes longer than usual, and takes the one that comes
 * first. Measured where 1 of 50 reads takes a second: the 99th percentile falls from 1000 to 65 ms,
 * for 4.4 % more requests (bench/hedge.mjs).
 */
export class Hedge {
  readonly #maxShare: number;
  readonly #nowMs: () => number;
  readonly #wait: (ms: number, signal: AbortSignal) => Promise<unknown>;
  readonly #samplesMs: number[] = [];
  #credit = 1;

  constructor({ maxShare, nowMs, wait }: HedgeOptions) {
    this.#maxShare = maxShare;
    this.#nowMs = nowMs ?? (() => performance.now());
    this.#wait = wait ?? ((ms, signal) => pause(ms, undefined, { signal }));
  }

  /**
   * `send` must be safe to call twice. Aborting `signal` ends the request and what is read of its
   * response.
   */
  async run<T>(send: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<Hedged<T>> {
    this.#credit = Math.min(this.#credit + this.#maxShare, MAX_BURST);
    const usualMs = this.#usualMs();
    const first = this.#start(send, signal);
    if (usualMs === undefined) return first.response;
    const isLate = await this.#isLate(first.response, usualMs);
    if (!isLate || this.#credit < 1 || signal?.aborted) return first.response;
    this.#credit -= 1;
    const second = this.#start(send, signal);
    const winner = await Promise.any(
      [first, second].map((request) => request.response.then((hedged) => ({ request, hedged }))),
    ).catch(() => undefined);
    if (!winner) return first.response;
    const loser = winner.request === first ? second : first;
    loser.response.catch(() => undefined);
    loser.end();
    return winner.hedged;
  }

  #usualMs(): number | undefined {
    if (this.#samplesMs.length < MIN_SAMPLES) return undefined;
    const sorted = [...this.#samplesMs].sort((one, other) => one - other);
    return Math.max(sorted[Math.floor(sorted.length * QUANTILE)]!, MIN_WAIT_MS);
  }

  #start<T>(send: (signal: AbortSignal) => Promise<T>, signal: AbortSignal | undefined) {
    const link = createLinkedAbort(signal);
    const end = (): void => link[Symbol.dispose]();
    const startedMs = this.#nowMs();
    const response = send(link.signal).then(
      (received): Hedged<T> => {
        this.#samplesMs.push(this.#nowMs() - startedMs);
        if (this.#samplesMs.length > MAX_SAMPLES) this.#samplesMs.shift();
        return { response: received, [Symbol.dispose]: end };
      },
      (error: unknown) => {
        end();
        throw error;
      },
    );
    return { response, end };
  }

  /** False as soon as there is a response or a failure. */
  async #isLate(response: Promise<unknown>, usualMs: number): Promise<boolean> {
    const waiting = new AbortController();
    const isLate = this.#wait(usualMs, waiting.signal).then(
      () => true,
      () => false,
    );
    const isSettled = response.then(
      () => false,
      () => false,
    );
    try {
      return await Promise.race([isSettled, isLate]);
    } finally {
      waiting.abort();
    }
  }
}
