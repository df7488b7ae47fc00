import { setTimeout as pause } from 'node:timers/promises';
import { createLinkedAbort } from '../../lib/linked-abort.js';

export interface HedgeOptions {
  /** At most this share of requests is sent twice, so that a slow store does not get twice the load. */
  readonly maxShare: number;
  readonly nowMs?: () => number;
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** Dispose of it when the answer was read: until then, it follows the signal of the caller. */
export interface Hedged<T> extends Disposable {
  readonly response: T;
}

/** Sends a request again when its answer takes longer than usual, and takes the answer that comes first. */
export interface Hedge {
  /** `send` must be safe to call twice. Aborting `signal` ends the request and what is read of its answer. */
  run<T>(send: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<Hedged<T>>;
}

/** Of the last ones. Until then, no request is sent twice. */
const MIN_SAMPLES = 20;
const MAX_SAMPLES = 200;
const QUANTILE = 0.95;
/** An answer that is a little late costs less than a second request. */
const MIN_WAIT_MS = 20;
/** Second requests that may follow each other at once. */
const MAX_BURST = 4;

export const createHedge = ({
  maxShare,
  nowMs = () => performance.now(),
  wait = (ms, signal) => pause(ms, undefined, { signal }),
}: HedgeOptions): Hedge => {
  const samplesMs: number[] = [];
  let credit = 1;

  const usualMs = (): number | undefined => {
    if (samplesMs.length < MIN_SAMPLES) return undefined;
    const sorted = [...samplesMs].sort((one, other) => one - other);
    return Math.max(sorted[Math.floor(sorted.length * QUANTILE)]!, MIN_WAIT_MS);
  };
  const begin = <T>(send: (signal: AbortSignal) => Promise<T>, signal: AbortSignal | undefined) => {
    const link = createLinkedAbort(signal);
    const end = (): void => link[Symbol.dispose]();
    const startedMs = nowMs();
    const responded = send(link.signal).then(
      (response): Hedged<T> => {
        samplesMs.push(nowMs() - startedMs);
        if (samplesMs.length > MAX_SAMPLES) samplesMs.shift();
        return { response, [Symbol.dispose]: end };
      },
      (error: unknown) => {
        end();
        throw error;
      },
    );
    return { responded, end };
  };

  return {
    run: async (send, signal) => {
      credit = Math.min(credit + maxShare, MAX_BURST);
      const usual = usualMs();
      const first = begin(send, signal);
      if (usual === undefined) return first.responded;
      const waiting = new AbortController();
      const isLate = wait(usual, waiting.signal).then(
        () => true,
        () => false,
      );
      const isResponded = first.responded.then(
        () => false,
        () => false,
      );
      const sendsAgain = (await Promise.race([isResponded, isLate])) && credit >= 1 && !signal?.aborted;
      waiting.abort();
      if (!sendsAgain) return first.responded;
      credit -= 1;
      const second = begin(send, signal);
      const taken = await Promise.any(
        [first, second].map((request) => request.responded.then((hedged) => ({ request, hedged }))),
      ).catch(() => undefined);
      if (!taken) return first.responded;
      const other = taken.request === first ? second : first;
      other.responded.catch(() => undefined);
      other.end();
      return taken.hedged;
    },
  };
};
