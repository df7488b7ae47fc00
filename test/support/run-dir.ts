import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isRunning } from './temp-dir.js';

/**
 * The process that starts the Swift of the run writes its address into this file, or why it failed.
 */
export const SHARED_SWIFT = 'swift.json';
export type SharedSwift =
  | { readonly url: string; readonly dir: string; readonly pids: readonly number[] }
  | { readonly error: string };

/**
 * Makes a directory for what the processes of a run share. At the end of the run, stops the Swift
 * that they share.
 */
export default (): (() => Promise<void>) => {
  const runDir = mkdtempSync(join(tmpdir(), 'kinora-run-'));
  process.env.TEST_RUN_DIR = runDir;
  return async () => {
    const file = join(runDir, SHARED_SWIFT);
    const shared = existsSync(file) && (JSON.parse(readFileSync(file, 'utf8')) as SharedSwift);
    if (shared && 'pids' in shared) {
      const running = shared.pids.filter(isRunning);
      for (const pid of running) process.kill(pid);
      while (running.some(isRunning)) await pause(50);
      await rm(shared.dir, { recursive: true, force: true });
    }
    await rm(runDir, { recursive: true, force: true });
  };
};
