import { constants } from 'node:os';
import { KinoraError } from './errors.js';

/** No room, no inodes, or the quota of a user is used up. */
const CODES: readonly unknown[] = ['ENOSPC', 'EDQUOT'];
/** Node.js has no name for the code of a used-up quota. */
const NUMBERS: readonly unknown[] = [-constants.errno.ENOSPC, -constants.errno.EDQUOT];
/** FFmpeg, and programs of others, only say it. */
const MESSAGE = /No space left on device|Disk quota exceeded/;

/**
 * One line that says what failed, or caused the failure, because a file system has no space left;
 * undefined otherwise.
 */
export const noSpaceReason = (error: unknown): string | undefined => {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && CODES.includes(cause.code)) return cause.message;
    if ('errno' in cause && NUMBERS.includes(cause.errno)) return cause.message;
    const line = cause.message.split('\n').find((text) => MESSAGE.test(text));
    if (line !== undefined) return line.trim();
  }
  return undefined;
};

/**
 * Whether something failed, or was caused by what failed, because a file system has no space left.
 */
export const isNoSpace = (error: unknown): boolean => noSpaceReason(error) !== undefined;

/**
 * The failure of work for which there is no space: it can be freed while the work waits for its
 * next try.
 */
export const noSpaceError = (cause: unknown, details: Record<string, unknown>): KinoraError =>
  new KinoraError('unavailable', { cause, details });
