import { Worker } from 'node:worker_threads';
import { cancelled } from '../lib/abort.js';
import { KinoraError } from '../lib/errors.js';
import { createInTurn } from '../lib/in-turn.js';
import type { TextResponse } from './text-worker.js';

/**
 * Reads a subtitle file of at most a few MiB in any known encoding and format.
 * @throws KinoraError `invalid_input` when it has no cue, or reading it takes too much time or
 * memory; `cancelled`
 */
export type ParseText = (bytes: Uint8Array, signal?: AbortSignal) => Promise<NonNullable<TextResponse>>;

const TIME_LIMIT_MS = 60_000;
/**
 * Several times what 10 MiB of the worst input need. This is only a backstop: a thread that exceeds
 * it in one step can crash the process, so the parser itself keeps to a small multiple of its
 * input.
 */
const HEAP_LIMIT_MIB = 512;

const invalid = (cause?: unknown): KinoraError =>
  new KinoraError('invalid_input', { messages: ['The text file could not be parsed.'], cause });

/**
 * Each file is parsed in its own thread, whose memory is freed with it, and one at a time, so that
 * the memory of a hundred files does not add up.
 */
export const createTextParser = (timeMs = TIME_LIMIT_MS): ParseText => {
  const inTurn = createInTurn();

  const parse = (bytes: Uint8Array, signal?: AbortSignal): ReturnType<ParseText> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(cancelled(signal));
        return;
      }
      const worker = new Worker(new URL('./text-worker.js', import.meta.url), {
        workerData: bytes,
        resourceLimits: { maxOldGenerationSizeMb: HEAP_LIMIT_MIB },
      });
      let settle: (() => void) | undefined;
      const end = (outcome: () => void): void => {
        settle ??= outcome;
        void worker.terminate();
      };
      const cancel = (): void => end(() => reject(cancelled(signal)));
      const limit = setTimeout(() => end(() => reject(invalid(new Error(`not parsed within ${timeMs} ms`)))), timeMs);
      signal?.addEventListener('abort', cancel);
      worker.once('message', (response: TextResponse) => end(() => (response ? resolve(response) : reject(invalid()))));
      worker.once('error', (error) => end(() => reject(invalid(error))));
      // Not before: until then the thread holds its memory, and the next one would add to it.
      worker.once('exit', () => {
        clearTimeout(limit);
        signal?.removeEventListener('abort', cancel);
        if (settle) settle();
        else reject(invalid(new Error('the thread ended early')));
      });
    });

  return (bytes, signal) => inTurn(() => parse(bytes, signal));
};
