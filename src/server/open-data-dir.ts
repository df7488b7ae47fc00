import { readdir } from 'node:fs/promises';
import { repairLooseModes } from '../db/data-dir.js';
import { DataDirLock } from '../db/data-dir-lock.js';
import { KinoraError } from '../lib/errors.js';
import { findListenProblem } from './listen-problem.js';
import type { Base } from './parts.js';

/**
 * The port may be free later, an address that moves between machines may arrive, and the name may
 * resolve.
 */
const TRANSIENT: ReadonlySet<string> = new Set(['EADDRINUSE', 'EADDRNOTAVAIL', 'EAI_AGAIN']);

/**
 * Locks the data directory and checks that the server can listen. `isFresh` when it was empty.
 * @throws KinoraError `data_dir_in_use`, `config_invalid`, or `unavailable` when it can't listen
 * now but may later
 */
export const openDataDir = async ({ config, logger, phases }: Base): Promise<{ isFresh: boolean }> => {
  const lock = await DataDirLock.acquire(config.dataDir, () => {
    // Another process may open the directory from now on; continuing would corrupt it.
    logger.error({ data_dir: config.dataDir }, 'data directory lock lost');
    process.kill(process.pid, 'SIGKILL');
  });
  phases.push({ name: 'lock', end: () => lock.release() });
  const isFresh = (await readdir(config.dataDir)).every((name) => name === 'lock');
  const { repaired, left } = repairLooseModes(config.dataDir);
  if (repaired.length > 0)
    logger.warn({ entries: repaired.length, first: repaired[0] }, 'file permissions of other users removed');
  if (left.length > 0) logger.warn({ entries: left }, 'data directory accessible to other users');
  // Checked before anything is created: a first start that can't listen leaves nothing behind.
  for (const [host, port, option] of [
    [config.host, config.port, 'KINORA_'],
    [config.metricsHost, config.metricsPort, 'KINORA_METRICS_'],
  ] as const) {
    const problem = port === undefined ? undefined : await findListenProblem(host, port, option);
    if (!problem) continue;
    const kind = TRANSIENT.has(problem.code) ? 'unavailable' : 'config_invalid';
    throw new KinoraError(kind, { messages: [`${problem.text}; ${problem.fix}.`] });
  }
  return { isFresh };
};
