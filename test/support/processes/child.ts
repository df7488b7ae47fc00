import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { shortLived } from './node-flags.js';

const RUN_SCRIPT = fileURLToPath(new URL('./run-script.mjs', import.meta.url));

export interface ScriptChild {
  readonly process: ChildProcess;
  /** Complete lines of stdout so far. */
  readonly lines: string[];
  waitForLine(text: string): Promise<void>;
  /** @returns exit code and signal */
  readonly closed: Promise<unknown[]>;
}

/**
 * Runs a module script in a process of its own, which a test may kill; `kinora(path)` imports from
 * the built product.
 */
export const runScript = (script: string, args: string[], execArgv: string[] = []): ScriptChild => {
  const child = spawn(process.execPath, [...shortLived, ...execArgv, RUN_SCRIPT, script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  let rest = '';
  child.stdout.on('data', (chunk) => {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop()!;
    lines.push(...parts);
    child.emit('lines');
  });
  return {
    process: child,
    lines,
    closed: once(child, 'close'),
    waitForLine: async (text) => {
      while (!lines.includes(text)) {
        if (child.exitCode !== null) throw new Error(`the script ended with ${child.exitCode} before "${text}"`);
        await Promise.race([once(child, 'lines'), once(child, 'close')]);
      }
    },
  };
};
