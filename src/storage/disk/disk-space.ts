import { open, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../telemetry/logger.js';

export interface DiskSpaceOptions {
  /** Must exist at every check. */
  readonly dir: string;
  readonly logger: Logger;
  /** The log warns below this many bytes; 1 GiB by default. */
  readonly lowBelowBytes?: number;
  /** The interval between checks of the free space; a minute by default. */
  readonly everyMs?: number;
}

/**
 * Enough for a segment, a page of the database log and an upload's buffer; with less, the disk
 * counts as full.
 */
const FULL_BELOW_BYTES = 16 * 2 ** 20;
const LOW_BELOW_BYTES = 2 ** 30;
const EVERY_MS = 60_000;
/** One block, so that the file system has to allocate one. */
const SAMPLE = Buffer.alloc(4096, 1);

/**
 * Watches the free space of a directory's disk: warns once when it gets low and logs once when
 * there is enough again.
 */
export class DiskSpace {
  readonly #dir: string;
  readonly #logger: Logger;
  readonly #lowBelowBytes: number;
  readonly #timer: NodeJS.Timeout;
  #isLow = false;
  #checking: Promise<void> | undefined;

  constructor({ dir, logger, lowBelowBytes = LOW_BELOW_BYTES, everyMs = EVERY_MS }: DiskSpaceOptions) {
    this.#dir = dir;
    this.#logger = logger;
    this.#lowBelowBytes = lowBelowBytes;
    this.#measure();
    this.#timer = setInterval(() => this.#measure(), everyMs);
  }

  /** Whether the free space was low when it was last measured. */
  isLow(): boolean {
    return this.#isLow;
  }

  /** The number of bytes that this user may still write. */
  async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.#dir);
    const free = bavail * bsize;
    if (free < this.#lowBelowBytes !== this.#isLow) {
      this.#isLow = !this.#isLow;
      const fields = { dir: this.#dir, free_bytes: free };
      if (this.#isLow) this.#logger.warn(fields, 'disk almost full');
      else this.#logger.info(fields, 'disk space available again');
    }
    return free;
  }

  /**
   * Resolves when a small file could be written to the disk. Anyone may ask whether the server is
   * ready, so concurrent requests share one write.
   * @throws when it could not, or when the disk is full
   */
  check(): Promise<void> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #measure(): void {
    this.freeBytes().catch((error: unknown) => this.#logger.warn({ err: error }, 'free space unknown'));
  }

  async #check(): Promise<void> {
    const free = await this.freeBytes();
    if (free < FULL_BELOW_BYTES) throw new Error(`only ${free} bytes are free`);
    const samplePath = join(this.#dir, '.write-check');
    try {
      const file = await open(samplePath, 'w');
      try {
        await file.writeFile(SAMPLE);
        await file.sync();
      } finally {
        await file.close();
      }
    } finally {
      await rm(samplePath, { force: true });
    }
  }
}
