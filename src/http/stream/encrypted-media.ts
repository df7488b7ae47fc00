import { LRUCache } from 'lru-cache';

/** The newest parts and segments of a few broadcasts with all their rungs. */
const MAX_BYTES = 64 * 2 ** 20;

/**
 * Encrypted parts and segments of broadcasts, in memory: however many viewers ask for one, it is
 * encrypted once while it is new.
 */
export class EncryptedMedia {
  readonly #kept = new LRUCache<string, Uint8Array>({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ length }) => Math.max(1, length),
  });
  readonly #pending = new Map<string, Promise<Uint8Array | undefined>>();

  /** What was made under this name before, or what `make` returns. Undefined is not kept. */
  async get(name: string, make: () => Promise<Uint8Array | undefined>): Promise<Uint8Array | undefined> {
    const bytes = this.#kept.get(name);
    if (bytes) return bytes;
    const before = this.#pending.get(name);
    if (before) return before;
    const pending = this.#make(name, make).finally(() => this.#pending.delete(name));
    this.#pending.set(name, pending);
    return pending;
  }

  async #make(name: string, make: () => Promise<Uint8Array | undefined>): Promise<Uint8Array | undefined> {
    const bytes = await make();
    if (bytes) this.#kept.set(name, bytes);
    return bytes;
  }
}
