/**
 * Results of queries that are used again until the data changes. All of them are from the same
 * state of the data.
 */
export class CurrentReads<V extends object> {
  readonly #changes: () => number;
  readonly #maxEntries: number;
  readonly #results = new Map<string, V>();
  #readAt: number;

  /** `changes` is that of the database. Beyond `maxEntries`, the oldest result is removed. */
  constructor(changes: () => number, maxEntries: number) {
    this.#changes = changes;
    this.#maxEntries = maxEntries;
    this.#readAt = changes();
  }

  /**
   * The result for the key, or that of `query`. Callers may get the same object, so they must not
   * change it. Nothing is kept of what does not exist.
   */
  async read(key: string, query: () => Promise<V | undefined>): Promise<V | undefined> {
    const before = this.#changes();
    if (before !== this.#readAt) this.#results.clear();
    this.#readAt = before;
    const present = this.#results.get(key);
    if (present) return present;
    const result = await query();
    if (result && this.#changes() === before && this.#readAt === before) {
      this.#results.set(key, result);
      if (this.#results.size > this.#maxEntries) this.#results.delete(this.#results.keys().next().value!);
    }
    return result;
  }
}
