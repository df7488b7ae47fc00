interface Batch<K, V> {
  readonly keys: Set<K>;
  readonly rows: Promise<ReadonlyMap<K, V>>;
}

/** A batch takes no more keys than this, so that none waits for a very long answer. */
const MAX_KEYS = 100;

/**
 * Reads one batch of keys after the other: what is requested while a batch is read is the next one. Under load, one query
 * then reads the rows of many requests. A read never returns what was stored before it was requested. Callers that read the
 * same key may get the same value, so they must not change it.
 */
export const joinReads = <K, V>(
  read: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>,
): ((key: K) => Promise<V | undefined>) => {
  let next: Batch<K, V> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  const open = (): Batch<K, V> => {
    const keys = new Set<K>();
    const begin = (): Promise<ReadonlyMap<K, V>> => {
      if (next === batch) next = undefined;
      return read([...keys]);
    };
    const batch = { keys, rows: last.then(begin) };
    last = batch.rows.catch(() => undefined);
    return batch;
  };
  return async (key) => {
    if (!next || next.keys.size >= MAX_KEYS) next = open();
    next.keys.add(key);
    return (await next.rows).get(key);
  };
};
