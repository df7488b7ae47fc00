interface Batch<K, V> {
  readonly keys: Set<K>;
  readonly rows: Promise<ReadonlyMap<K, V>>;
  resolve(rows: ReadonlyMap<K, V>): void;
  reject(error: unknown): void;
}

/** A batch takes no more keys than this, so that none waits for a very long answer. */
const MAX_KEYS = 100;

const newBatch = <K, V>(): Batch<K, V> => {
  const ends = {} as Pick<Batch<K, V>, 'resolve' | 'reject'>;
  const rows = new Promise<ReadonlyMap<K, V>>((resolve, reject) => Object.assign(ends, { resolve, reject }));
  return { keys: new Set(), rows, ...ends };
};

/**
 * Reads one batch of keys after the other: what is requested while a batch is read is the next one. Under load, one query
 * then reads the rows of many requests. A read never returns what was stored before it was requested. A failure also ends
 * what is waiting, which would otherwise wait for the same connection again. Callers that read the same key may get the
 * same value, so they must not change it.
 */
export const joinReads = <K, V>(
  read: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>,
): ((key: K) => Promise<V | undefined>) => {
  const waiting: Batch<K, V>[] = [];
  let isReading = false;
  const readAll = async (): Promise<void> => {
    isReading = true;
    for (let batch = waiting.shift(); batch; batch = waiting.shift()) {
      try {
        batch.resolve(await read([...batch.keys]));
      } catch (error) {
        for (const { reject } of [batch, ...waiting.splice(0)]) reject(error);
      }
    }
    isReading = false;
  };
  return async (key) => {
    let batch = waiting.at(-1);
    if (!batch || batch.keys.size >= MAX_KEYS) {
      batch = newBatch();
      waiting.push(batch);
    }
    batch.keys.add(key);
    if (!isReading) void readAll();
    return (await batch.rows).get(key);
  };
};
