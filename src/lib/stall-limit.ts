import pTimeout from 'p-timeout';

/**
 * Yields what `chunks` yields, and throws when it yields nothing for `limitMs`. Time that the
 * reader takes is free.
 */
export const withStallLimit = async function* <T>(
  chunks: AsyncIterable<T>,
  limitMs: number,
  message = `no data for ${limitMs / 1000} s`,
): AsyncGenerator<T> {
  const iterator = chunks[Symbol.asyncIterator]();
  try {
    for (;;) {
      const result = await pTimeout(iterator.next(), { milliseconds: limitMs, message });
      if (result.done) return;
      yield result.value;
    }
  } finally {
    // Not awaited: a stalled source never answers.
    iterator.return?.()?.catch(() => undefined);
  }
};
