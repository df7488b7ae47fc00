import { isKinoraError, KinoraError } from '../../../lib/errors.js';
import { refusals } from '../../../media/source/refusals.js';

/** Runs in which media processes died on one source (each run already tries twice) before the source is given up. */
const MAX_CRASHES = 2;

/** Makes an error final once a file had its tries; `countCrash` counts one more death of a process on it. */
export const boundFailure = async (error: unknown, countCrash: () => Promise<number>): Promise<unknown> => {
  // Without a clean answer from FFmpeg: the process died, ran out of time or out of memory.
  const isCrash =
    isKinoraError(error, 'media_crashed') || (isKinoraError(error, 'media_failed') && error.failure === 'defect');
  if (isCrash && (await countCrash()) >= MAX_CRASHES)
    return new KinoraError('media_crashed', { cause: error, failure: 'fail' });
  // The fetcher made its own tries with pauses; the owner of the file should hear of it now.
  if (isKinoraError(error, 'source_unreachable'))
    return new KinoraError('source_unreachable', { messages: error.messages, cause: error, failure: 'fail' });
  // FFmpeg read the file and said no: it will say no again.
  if (isKinoraError(error, 'media_failed') && error.failure === 'fail')
    return new KinoraError('invalid_input', { messages: [refusals.damaged], cause: error });
  return error;
};
