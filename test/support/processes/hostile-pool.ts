import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#kinora/lib/clock.js';
import { isKinoraError } from '#kinora/lib/errors.js';
import {
  MediaPool,
  type MediaPoolOptions,
  type MediaPriority,
  mediaPriority,
  type RunOptions,
} from '#kinora/pool/media-pool.js';
import type { ProbeJob } from '#kinora/pool/protocol.js';
import { type SandboxLevel, sandboxLevels } from '#kinora/pool/sandbox.js';
import { memoryLogger } from '../memory-logger.js';

/** An order to `hostile-child.mjs`, for example `spin:500`. */
export const order = (text: string): ProbeJob => ({
  kind: 'probe',
  source: { path: text },
  maxPixels: 1,
  maxStreams: 1,
});

/** A pool whose media processes obey orders, with a directory each for reading and writing. */
export const startHostilePool = async (overrides: Partial<MediaPoolOptions> = {}) => {
  const root = mkdtempSync(join(tmpdir(), 'kinora-pool-'));
  const directories = { readDir: join(root, 'sources'), writeDir: join(root, 'scratch') };
  const logger = memoryLogger();
  const pool = await MediaPool.start({
    size: 2,
    readDirs: [directories.readDir],
    writeDir: directories.writeDir,
    memoryBytes: 512 * 2 ** 20,
    logger,
    clock: systemClock,
    entryUrl: new URL('./hostile-child.mjs', import.meta.url),
    ...overrides,
  }).catch((error: unknown) => {
    rmSync(root, { recursive: true, force: true });
    throw error;
  });
  return {
    pool,
    logger,
    root,
    ...directories,
    run: async (text: string, options: Partial<RunOptions> = {}) =>
      (await pool.run(order(text), {
        priority: mediaPriority.viewer as MediaPriority,
        ...options,
      })) as unknown as Record<string, unknown>,
    stop: async () => {
      await pool.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
};

/** The levels that this machine can do; containers often refuse the stronger ones. */
export const availableLevels = async (): Promise<ReadonlySet<SandboxLevel>> => {
  const levels = new Set<SandboxLevel>();
  for (const level of sandboxLevels) {
    try {
      const { stop } = await startHostilePool({ levels: [level] });
      await stop();
      levels.add(level);
    } catch (error) {
      if (!isKinoraError(error, 'unavailable')) throw error;
    }
  }
  return levels;
};
