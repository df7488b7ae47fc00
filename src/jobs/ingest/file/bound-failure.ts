import { isKinoraError, KinoraError } from '../../../lib/errors.js';
import { rejections } from '../../../media/source/rejections.js';

/**
 * A source is refused after this many runs in which media processes crashed on it (each run tries
 * twice).
 */
const MAX_CRASHES = 2;

/** Makes an error final when the file has used up its tries; `countCrash` counts one more crash. */
export const boundFailure = async (error: unknown, countCrash: () => Promise<number>): Promise<unknown> => {
  // FFmpeg did not report an error: the process crashed, timed out or ran out of memory.
  const isCrash =
    isKinoraError(error, 'media_crashed') || (isKinoraError(error, 'media_failed') && error.failure === 'defect');
  if (isCrash && (await countCrash()) >= MAX_CRASHES)
    return new KinoraError('media_crashed', { cause: error, failure: 'fail' });
  // The fetcher has already retried with pauses; the owner of the file should be told now.
  if (isKinoraError(error, 'source_unreachable'))
    return new KinoraError('source_unreachable', { messages: error.messages, cause: error, failure: 'fail' });
  // FFmpeg read the file and reported an error, which another try would repeat.
  if (isKinoraError(error, 'media_failed') && error.failure === 'fail')
    return new KinoraError('invalid_input', { messages: [explain(error.details)], cause: error });
  return error;
};

/** FFmpeg's AVERROR_PATCHWELCOME. */
const NOT_IMPLEMENTED = -0x45574150;

const explain = (details: KinoraError['details']): string => {
  if (details?.code === NOT_IMPLEMENTED) return rejections.unsupported;
  // Building a filter graph reads nothing of the file.
  return String(details?.operation).startsWith('filter ') && details?.code !== undefined
    ? rejections.unsupportedFrames
    : rejections.damaged;
};
