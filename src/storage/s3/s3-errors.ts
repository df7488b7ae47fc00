/** The HTTP status of an answer that was a failure. */
export const statusOf = (error: unknown): number | undefined =>
  (error as { $metadata?: { httpStatusCode?: number } } | undefined)?.$metadata?.httpStatusCode;

/** The code of a failure, such as `NoSuchBucket` or `ECONNREFUSED`. */
export const nameOf = (error: unknown): string => {
  const { code, Code, name } = (error ?? {}) as { code?: unknown; Code?: unknown; name?: unknown };
  return String(Code ?? code ?? name ?? 'Error');
};

/** In one line: the client's own errors carry the connection, with all of its buffers. */
export const describeFailure = (error: unknown): string =>
  `${nameOf(error)}: ${error instanceof Error ? error.message : String(error)}`;
