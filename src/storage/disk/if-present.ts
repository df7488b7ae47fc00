/**
 * The result of a file operation; undefined when the file does not exist. A path below a file does
 * not exist either.
 */
export const ifPresent = <T>(promise: Promise<T>): Promise<T | undefined> =>
  promise.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  });
