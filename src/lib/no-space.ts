/** No room, no inodes, or the quota of a user is used up. */
const CODES: readonly unknown[] = ['ENOSPC', 'EDQUOT'];
/** FFmpeg, and programs of others, only say it. */
const MESSAGE = /No space left on device|Disk quota exceeded/;

/** Whether text of a program says that it could not store a file for want of space. */
export const saysNoSpace = (text: string): boolean => MESSAGE.test(text);

/** One line that says what failed, or caused the failure, because a file system has no space left; undefined otherwise. */
export const noSpaceReason = (error: unknown): string | undefined => {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && CODES.includes(cause.code)) return cause.message;
    const line = cause.message.split('\n').find(saysNoSpace);
    if (line !== undefined) return line.trim();
  }
  return undefined;
};

/** Whether something failed, or was caused by what failed, because a file system has no space left. */
export const isNoSpace = (error: unknown): boolean => noSpaceReason(error) !== undefined;
