import { open, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../telemetry/logger.js';

export interface DiskSpace {
  /**
   * Resolves when a small file could be written to the disk.
   * @throws when it could not, or when the disk is full
   */
  check(): Promise<void>;
  /** The number of bytes that this user may still write. */
  freeBytes(): Promise<number>;
  /** Whether the free space was low when it was last looked at. */
  isLow(): boolean;
  stop(): void;
}

export interface DiskSpaceOptions {
  /** Must exist at every check. */
  readonly dir: string;
  readonly logger: Logger;
  /** The log warns below this many bytes; 1 GiB by default. */
  readonly lowBelowBytes?: number;
  /** The interval between checks of the free space; a minute by default. */
  readonly everyMs?: number;
}

/** Enough for a segment, a page of the database log and an upload's buffer; with less, the disk counts as full. */
const FULL_BELOW_BYTES = 16 * 2 ** 20;
const LOW_BELOW_BYTES = 2 ** 30;
const EVERY_MS = 60_000;
/** One block, so that the file system has to allocate one. */
const SAMPLE = Buffer.alloc(4096, 1);

/**
 * Watches the free space of a directory's disk: warns once when it gets low and logs once when there is enough again.
 */
export const watchDiskSpace = (options: DiskSpaceOptions): DiskSpace => {
  const { dir, logger, lowBelowBytes = LOW_BELOW_BYTES, everyMs = EVERY_MS } = options;
  const samplePath = join(dir, '.write-check');
  let isLow = false;
  let running: Promise<void> | undefined;

  const freeBytes = async (): Promise<number> => {
    const { bavail, bsize } = await statfs(dir);
    const free = bavail * bsize;
    if (free < lowBelowBytes !== isLow) {
      isLow = !isLow;
      const fields = { dir, free_bytes: free };
      if (isLow) logger.warn(fields, 'disk almost full');
      else logger.info(fields, 'disk space available again');
    }
    return free;
  };

  const check = async (): Promise<void> => {
    const free = await freeBytes();
    if (free < FULL_BELOW_BYTES) throw new Error(`only ${free} bytes are free`);
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
  };

  const look = (): void =>
    void freeBytes().catch((error: unknown) => logger.warn({ err: error }, 'free space unknown'));
  look();
  const timer = setInterval(look, everyMs);

  return {
    // Anyone may ask whether the server is ready, so concurrent requests share one write.
    check: () => {
      running ??= check().finally(() => {
        running = undefined;
      });
      return running;
    },
    freeBytes,
    isLow: () => isLow,
    stop: () => clearInterval(timer),
  };
};
