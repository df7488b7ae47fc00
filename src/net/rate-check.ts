import type { Clock } from '../lib/clock.js';
import { KinoraError } from '../lib/errors.js';

/**
 * Slower than any origin that means well; a byte now and then would hold a place of the ingest for
 * hours.
 */
const LEAST_BYTES_PER_SECOND = 1024;
const TOO_SLOW = 'The input file could not be downloaded: the server sends it too slowly.';

/**
 * Checks that one body arrives fast enough. The result is told the size of every piece and throws
 * `source_unreachable`.
 */
export const createRateCheck = (clock: Clock, windowMs: number): ((bytes: number) => void) => {
  let beganMs = clock.monotonicMs();
  let receivedBytes = 0;
  return (bytes) => {
    receivedBytes += bytes;
    const elapsedMs = clock.monotonicMs() - beganMs;
    if (elapsedMs < windowMs) return;
    if (receivedBytes < (elapsedMs / 1000) * LEAST_BYTES_PER_SECOND) {
      throw new KinoraError('source_unreachable', {
        messages: [TOO_SLOW],
        details: { reason: 'too slow', receivedBytes, elapsedMs },
      });
    }
    beganMs += elapsedMs;
    receivedBytes = 0;
  };
};
