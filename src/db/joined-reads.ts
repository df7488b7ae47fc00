interface Batch<K, V> {
  readonly keys: Set<K>;
  readonly rows: Promise<ReadonlyMap<K, V>>;
  readonly resolve: (rows: ReadonlyMap<K, V>) => void;
  readonly reject: (error: unknown) => void;
}

/** A batch takes no more keys than this, so that none waits for a very long response. */
const MAX_KEYS = 100;

const newBatch = <K, V>(): Batch<K, V> => {
  const ends = {} as Pick<Batch<K, V>, 'resolve' | 'reject'>;
  const rows = new Promise<ReadonlyMap<K, V>>((resolve, reject) => Object.assign(ends, { resolve, reject }));
  return { keys: new Set(), rows, ...ends };
};

/**
 * Reads one batch of keys after the other: what is requested while a batch is read is the next one.
 * Under load, one query then reads the rows of many requests. Measured on the embedded engine, with
 * 16 connections that request one asset: 2.7 times as many requests, and 0.23 instead of 0.55 ms of
 * CPU time for each.
 */
export class JoinedReads<K, V> {
  readonly #readBatch: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>;
  readonly #waiting: Batch<K, V>[] = [];
  #isReading = false;

  constructor(readBatch: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>) {
    this.#readBatch = readBatch;
  }

  /**
   * Never returns what was stored before the call. Callers that read the same key may get the same
   * value, so they must not change it.
   */
  async read(key: K): Promise<V | undefined> {
    let batch = this.#waiting.at(-1);
    if (!batch || batch.keys.size >= MAX_KEYS) {
      batch = newBatch();
      this.#waiting.push(batch);
    }
    batch.keys.add(key);
    if (!this.#isReading) void this.#readAll();
    return (await batch.rows).get(key);
  }

  /**
   * A failure also ends what is waiting, which would otherwise wait for the same connection again.
   */
  async #readAll(): Promise<void> {
    this.#isReading = true;
    for (let batch = this.#waiting.shift(); batch; batch = this.#waiting.shift()) {
      try {
        batch.resolve(await this.#readBatch([...batch.keys]));
      } catch (error) {
        for (const { reject } of [batch, ...this.#waiting.splice(0)]) reject(error);
      }
    }
    this.#isReading = false;
  }
}
