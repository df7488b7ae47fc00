import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { newSecret, newUuid } from '#kinora/lib/ids.js';
import { shortLived } from '../processes/node-flags.js';
import { cleanEnvironment, cliPath } from '../processes/run-cli.js';
import { fillDataDir } from './database.js';

export interface ServerProcess {
  readonly url: string;
  readonly token: { readonly id: string; readonly secret: string };
  readonly process: ChildProcess;
  /** Time from the start of the process to the printed address. */
  readonly startedInMs: number;
  /** Standard output so far. */
  output(): string;
  /** The log so far: a parsed line each. */
  log(): Record<string, unknown>[];
  logText(): string;
  signal(name: NodeJS.Signals): void;
  /** Exit status, null after a signal, once everything that it wrote was read. */
  readonly exited: Promise<number | null>;
  /** Ends the process as a power cut would and waits until it is gone. */
  kill(): Promise<void>;
  /** Asks it to stop; the exit status. */
  stop(): Promise<number | null>;
}

export interface ServerOptions {
  readonly dataDir: string;
  /**
   * The server makes the directory and its database itself, which takes seconds; otherwise a
   * missing one is a copy.
   */
  readonly isFirstStart?: true;
  /** Variables without the `KINORA_` prefix; undefined takes a default of this function away. */
  readonly options?: Readonly<Record<string, string | undefined>>;
  /** The `kinora` of another build. */
  readonly program?: string;
  /**
   * Flags of Node.js. Tests of memory pass `unoptimizedWasm`, which leaves the heap as users have
   * it.
   */
  readonly nodeFlags?: readonly string[];
}

/** One token for all starts, so that a test can continue after a restart. */
const token = { id: newUuid(), secret: newSecret() };
const running = new Set<ChildProcess>();

/** A data directory of its own; `removeDataDirs` takes all of them away. */
const dataDirs: string[] = [];
export const makeDataDir = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'kinora-server-'));
  dataDirs.push(directory);
  return join(directory, 'data');
};

/** For `afterAll`: whatever a failed test left. */
export const cleanUpServers = async (): Promise<void> => {
  for (const child of running) child.kill('SIGKILL');
  await Promise.all([...running].map((child) => once(child, 'exit')));
  for (const directory of dataDirs) rmSync(directory, { recursive: true, force: true });
};

/**
 * Starts `kinora serve` as a process of its own on a free port; resolves when it printed its
 * address.
 */
export const startServer = async ({
  dataDir,
  isFirstStart,
  options = {},
  program = cliPath,
  nodeFlags = shortLived,
}: ServerOptions): Promise<ServerProcess> => {
  if (!isFirstStart && options.DATABASE_URL === undefined && !existsSync(dataDir)) await fillDataDir(dataDir);
  const settings: Record<string, string | undefined> = {
    DATA_DIR: dataDir,
    PORT: '0',
    SAMPLE: 'false',
    RTMP_PORT: 'off',
    SRT_PORT: 'off',
    ALLOW_PRIVATE_SOURCES: 'true',
    TOKEN: `${token.id}:${token.secret}`,
    LOG_FORMAT: 'json',
    ...options,
  };
  const env = Object.entries(settings).flatMap(([name, value]) =>
    value === undefined ? [] : [[`KINORA_${name}`, value] as const],
  );
  const startedMs = performance.now();
  const child = spawn(process.execPath, [...nodeFlags, program, 'serve'], {
    cwd: tmpdir(),
    env: { ...cleanEnvironment(), ...Object.fromEntries(env) },
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  let stdout = '';
  let stderr = '';
  // Tests ask for the log again and again: each line is parsed once.
  const parsed: Record<string, unknown>[] = [];
  let parsedUntil = 0;
  child.stderr.on('data', (chunk) => (stderr += chunk));
  const exited = once(child, 'close').then(([status]) => status as number | null);
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
      const found = /Address +(\S+)\n/.exec(stdout)?.[1];
      if (found !== undefined) resolve(found);
    });
    void exited.then((status) => reject(new Error(`the server ended with status ${status}: ${stderr}`)));
  });
  return {
    url,
    token,
    process: child,
    startedInMs: performance.now() - startedMs,
    output: () => stdout,
    logText: () => stderr,
    log: () => {
      const end = stderr.lastIndexOf('\n') + 1;
      const added = stderr.slice(parsedUntil, end).split('\n').slice(0, -1);
      parsedUntil = end;
      for (const line of added) parsed.push(JSON.parse(line) as Record<string, unknown>);
      return [...parsed];
    },
    signal: (name) => void child.kill(name),
    exited,
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
    stop: () => {
      child.kill('SIGTERM');
      return exited;
    },
  };
};

const MAX_PAUSE_MS = 400;

/**
 * Waits for a condition that no event tells of. Asks less and less often: tests that wait must not
 * keep the server busy. The first pause is for conditions that take long and cost a request.
 */
export const until = async (
  what: string,
  holds: () => unknown,
  limitMs = 120_000,
  firstPauseMs = 10,
): Promise<void> => {
  const endMs = performance.now() + limitMs;
  for (let pauseMs = firstPauseMs; !(await holds()); pauseMs = Math.min(pauseMs * 1.3, MAX_PAUSE_MS)) {
    if (performance.now() > endMs) throw new Error(`not within ${limitMs} ms: ${what}`);
    await delay(pauseMs);
  }
};

/**
 * Command lines of all processes that name `text`, such as a data directory: media processes do so
 * in their mounts.
 */
export const processesNaming = (text: string): { pid: number; command: string }[] =>
  readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return command.includes(text) && Number(name) !== process.pid ? [{ pid: Number(name), command }] : [];
    } catch {
      // Ended while the list was read.
      return [];
    }
  });

/** Every file below a directory, relative to it. */
export const filesBelow = (directory: string): string[] => {
  try {
    return readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
};
