import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmdirSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system of known size that a test can fill up. */
export interface SmallDisk {
  readonly dir: string;
  /** Leaves so many bytes free, or none, as far as others do not free some. */
  fillSpace(leftBytes?: number): void;
  /** Leaves nothing free to create a file with. */
  fillInodes(): void;
  /** Takes back what was filled. */
  empty(): void;
  unmount(): void;
}

export interface SmallDiskOptions {
  readonly mebibytes: number;
  readonly inodes: number;
}

const freeBytes = (dir: string): number => {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize;
};
const isFull = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOSPC';

/** Undefined, with a warning, where file systems can't be mounted; in CI that is a failure. */
export const mountSmallDisk = ({ mebibytes, inodes }: SmallDiskOptions): SmallDisk | undefined => {
  const dir = mkdtempSync(join(tmpdir(), 'kinora-small-disk-'));
  const options = `size=${mebibytes}m,nr_inodes=${inodes}`;
  const { status, stderr, error } = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', dir]);
  if (status !== 0) {
    rmdirSync(dir);
    const text = `a small file system can't be mounted (${error?.message ?? String(stderr).trim()}); tests of full disks need root`;
    if (process.env.CI === 'true') throw new Error(text);
    console.warn(`SKIPPED: ${text}`);
    return undefined;
  }
  const filler = join(dir, 'filler');
  return {
    dir,
    fillSpace: (leftBytes = 0) => {
      mkdirSync(filler, { recursive: true });
      const file = openSync(join(filler, 'space'), 'a');
      try {
        for (const size of [2 ** 20, 4096]) {
          const block = Buffer.alloc(size);
          while (freeBytes(dir) >= leftBytes + size && writeSync(file, block) > 0);
        }
      } catch (error) {
        if (!isFull(error)) throw error;
      } finally {
        closeSync(file);
      }
    },
    fillInodes: () => {
      mkdirSync(filler, { recursive: true });
      try {
        for (let name = 0; ; name++) closeSync(openSync(join(filler, `${name}`), 'a'));
      } catch (error) {
        if (!isFull(error)) throw error;
      }
    },
    empty: () => rmSync(filler, { recursive: true, force: true }),
    unmount: () => {
      spawnSync('umount', ['-l', dir]);
      rmdirSync(dir);
    },
  };
};
