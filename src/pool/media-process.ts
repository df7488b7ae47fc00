import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Clock } from '../lib/clock.js';
import { createLineReader } from '../lib/line-reader.js';
import { cpuTimeMs } from './cpu-time.js';
import type { FromChild, MediaJob, ToChild } from './protocol.js';

const START_LIMIT_MS = 30_000;
/**
 * If a file makes its process start another one outside the group, that process could keep the pipes of the ended one
 * open forever.
 */
const PIPES_LIMIT_MS = 3_000;
const CPU_WATCH_MS = 250;
const STDERR_TAIL_CHARACTERS = 4096;
const MESSAGE_LIMIT_CHARACTERS = 4 * 2 ** 20;

/** How one job ended in a media process. */
export type Outcome =
  | Extract<FromChild, { type: 'done' | 'failed' }>
  /** `beforeStart`: the process never started, so the job is not the cause. */
  | { readonly type: 'crashed'; readonly beforeStart: boolean; readonly reason: string; readonly overCpuLimit?: true };

export interface JobLimits {
  /** Wall-clock time, without paused time. */
  readonly deadlineMs: number;
  /** CPU time of the process, where the system reports it. */
  readonly cpuMs?: number | undefined;
}

export interface MediaProcess {
  /** Runs at nice 10 for its whole life: raising a priority again requires privileges. */
  readonly background: boolean;
  /** The number of jobs, without those that read no file: the configuration of an encoder. */
  readonly jobsStarted: number;
  /** Time spent on jobs, without paused time. */
  readonly busyMs: number;
  readonly alive: boolean;
  /** Resolves when the process can take work; rejects if it ends before. */
  readonly started: Promise<void>;
  /** Never rejects. Runs one job at a time. */
  run(job: MediaJob, limits: JobLimits, onProgress: (fraction: number) => void): Promise<Outcome>;
  /** Pauses the process and its deadline. */
  pause(): void;
  resume(): void;
  /** Kills the whole process group and waits until it is gone. */
  kill(): Promise<void>;
  /** Resolves when no part of the process is left. */
  readonly closed: Promise<void>;
}

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
}

/** A one-shot timer that can be paused. */
const pausableTimer = (clock: Clock, limitMs: number, onExpired: () => void) => {
  let remainingMs = limitMs;
  let startedMs = clock.monotonicMs();
  let timer: NodeJS.Timeout | undefined;
  const resume = (): void => {
    if (timer !== undefined) return;
    startedMs = clock.monotonicMs();
    timer = setTimeout(onExpired, remainingMs);
  };
  const pause = (): void => {
    if (timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
    remainingMs -= clock.monotonicMs() - startedMs;
  };
  resume();
  /** Time without pauses. */
  const elapsedMs = (): number => limitMs - remainingMs + (timer === undefined ? 0 : clock.monotonicMs() - startedMs);
  return { pause, resume, elapsedMs };
};

const isRecord = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

const isByteRange = (value: unknown): boolean => {
  const { start, end } = (value ?? {}) as Partial<Record<string, number>>;
  return Number.isSafeInteger(start) && Number.isSafeInteger(end) && start! >= 0 && start! < end!;
};

const MAX_MISSING = 16;
const areMissing = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.length <= MAX_MISSING && value.every(isByteRange);

/** Undefined for invalid messages: a malicious file may control the process. */
const parseMessage = (line: string): FromChild | undefined => {
  try {
    const message = JSON.parse(line) as Partial<Record<string, unknown>> | null;
    switch (message?.type) {
      case 'ready':
        return message as FromChild;
      case 'progress': {
        if (typeof message.fraction !== 'number') return undefined;
        return { ...message, fraction: Math.min(1, Math.max(0, message.fraction)) } as FromChild;
      }
      case 'done':
        return isRecord(message.result) ? (message as FromChild) : undefined;
      case 'failed':
        if (message.code === 'range_missing' && !areMissing(message.missing)) return undefined;
        return typeof message.message === 'string' ? (message as FromChild) : undefined;
      default:
        return undefined;
    }
  } catch {
    // Not a message, because it is not JSON.
    return undefined;
  }
};

/**
 * Callers that await the promise see its failure; without such callers the rejection must not be reported as
 * unhandled.
 */
const settledQuietly = (promise: Promise<void>): Promise<void> => {
  promise.catch(() => undefined);
  return promise;
};

/** Stands for a process that never started. */
const deadProcess = (background: boolean, reason: string): MediaProcess => ({
  background,
  jobsStarted: 0,
  busyMs: 0,
  alive: false,
  started: settledQuietly(Promise.reject(new Error(reason))),
  run: async () => ({ type: 'crashed', beforeStart: true, reason }),
  pause: () => undefined,
  resume: () => undefined,
  kill: async () => undefined,
  closed: Promise.resolve(),
});

/** Its environment is empty, so no secret of the server can reach it. */
const spawnProcess = (command: Command): ChildProcess => {
  const child = spawn(command.file, command.args, {
    cwd: '/',
    env: {},
    // Messages use descriptor 3. Node's own IPC channel would throw in this process on a line that is not JSON.
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    // Its own process group, so that one signal reaches the sandbox tools and the process.
    detached: true,
  });
  if (child.stdio?.[3]) return child;
  // The error event that follows adds no information.
  child.once('error', () => undefined);
  throw new Error('no channel to a media process could be made');
};

/**
 * Starts a media process that waits for jobs. Never throws: if it can't be started, the result is a process that has
 * ended.
 */
export const startMediaProcess = (command: Command, background: boolean, clock: Clock): MediaProcess => {
  let child: ChildProcess;
  try {
    child = spawnProcess(command);
  } catch (error) {
    // Without memory or descriptors, `spawn` throws or omits the channel instead of emitting an error.
    return deadProcess(background, error instanceof Error ? error.message : String(error));
  }
  return watchProcess(child, background, clock);
};

/** Sends a signal to every process of the group. */
const signalGroup = (child: ChildProcess, name: NodeJS.Signals): void => {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, name);
  } catch {
    // The group has already ended, so the signal is not needed.
  }
};

const watchCpu = (pid: number, limitMs: number, onOver: () => void): NodeJS.Timeout => {
  const startMs = cpuTimeMs(pid);
  return setInterval(() => {
    const nowMs = cpuTimeMs(pid);
    if (startMs !== undefined && nowMs !== undefined && nowMs - startMs >= limitMs) onOver();
  }, CPU_WATCH_MS);
};

/** Calls `onGone` when no part of the process is left, or when it never started. */
const onceGone = (child: ChildProcess, channel: Socket, onGone: (reason: string) => void): void => {
  // `close` instead of `exit`: the pipe closes only when the last process of the group that holds it has ended.
  child.once('close', (code, name) => onGone(name === null ? `exit code ${code}` : `signal ${name}`));
  child.once('exit', () => {
    const limit = setTimeout(() => {
      signalGroup(child, 'SIGKILL');
      // Closing this end of the pipes causes `close`.
      child.stderr?.destroy();
      channel.destroy();
    }, PIPES_LIMIT_MS);
    child.once('close', () => clearTimeout(limit));
  });
  child.once('error', (error) => {
    if (child.pid === undefined) onGone(error.message);
  });
};

const watchProcess = (child: ChildProcess, background: boolean, clock: Clock): MediaProcess => {
  let alive = true;
  let ready = false;
  let paused = false;
  let jobsStarted = 0;
  let lastId = 0;
  let busyMs = 0;
  let stderr = '';
  let endReason: string | undefined;
  let overCpuLimit = false;
  let cpuWatch: NodeJS.Timeout | undefined;
  let timer: ReturnType<typeof pausableTimer>;
  let current:
    | {
        id: number;
        job: MediaJob;
        limits: JobLimits;
        onProgress: (fraction: number) => void;
        settle: (outcome: Outcome) => void;
      }
    | undefined;

  const channel = child.stdio[3] as Socket;

  const signal = (name: NodeJS.Signals): void => {
    if (alive) signalGroup(child, name);
  };
  const expire = (what: string) => (): void => {
    endReason = what;
    signal('SIGKILL');
  };
  const overCpu = (limitMs: number): void => {
    overCpuLimit = true;
    expire(`CPU time of ${limitMs} ms is used up`)();
  };
  const begin = (): void => {
    if (!ready || current === undefined) return;
    const { deadlineMs, cpuMs } = current.limits;
    timer = pausableTimer(clock, deadlineMs, expire(`deadline of ${deadlineMs} ms passed`));
    if (cpuMs !== undefined) cpuWatch = watchCpu(child.pid!, cpuMs, () => overCpu(cpuMs));
    if (paused) timer.pause();
    const message: ToChild = { type: 'run', id: current.id, job: current.job };
    channel.write(`${JSON.stringify(message)}\n`);
  };
  const settle = (outcome: Outcome): void => {
    timer.pause();
    clearInterval(cpuWatch);
    const settled = current;
    current = undefined;
    settled?.settle(outcome);
  };

  timer = pausableTimer(clock, START_LIMIT_MS, expire('did not start in time'));

  let onStarted: () => void;
  let onNotStarted: (error: Error) => void;
  const started = settledQuietly(
    new Promise<void>((resolve, reject) => {
      onStarted = resolve;
      onNotStarted = reject;
    }),
  );

  const closed = new Promise<void>((resolve) => {
    onceGone(child, channel, (reason) => {
      alive = false;
      const told = [endReason ?? reason, stderr.trim()].filter(Boolean).join(': ');
      onNotStarted(new Error(told));
      settle({ type: 'crashed', beforeStart: !ready, reason: told, ...(overCpuLimit && { overCpuLimit: true }) });
      resolve();
    });
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString('utf8')).slice(-STDERR_TAIL_CHARACTERS);
  });
  // A failed write means that the process is ending; `close` follows and settles the job.
  channel.on('error', () => undefined);
  const misbehave = expire('it sent what is no message');
  const onMessage = (line: string): void => {
    const message = parseMessage(line);
    if (message === undefined) {
      misbehave();
    } else if (message.type === 'ready') {
      if (ready) return;
      ready = true;
      onStarted();
      timer.pause();
      begin();
    } else if (message.id !== current?.id) {
      // A message about a job that has already ended.
    } else if (message.type === 'progress') {
      current.onProgress(message.fraction);
    } else {
      settle(message);
    }
  };
  channel.setEncoding('utf8').on('data', createLineReader(MESSAGE_LIMIT_CHARACTERS, onMessage, misbehave));

  return {
    background,
    closed,
    started,
    get jobsStarted() {
      return jobsStarted;
    },
    get busyMs() {
      return busyMs;
    },
    get alive() {
      return alive;
    },
    run: async (job, limits, onProgress) => {
      if (job.kind !== 'video-config') jobsStarted += 1;
      lastId += 1;
      if (!alive) return { type: 'crashed', beforeStart: true, reason: endReason ?? 'ended while idle' };
      const outcome = await new Promise<Outcome>((settled) => {
        current = { id: lastId, job, limits, onProgress, settle: settled };
        begin();
      });
      // For a process that ended before it was ready: its startup time.
      busyMs += timer.elapsedMs();
      return outcome;
    },
    pause: () => {
      paused = true;
      timer.pause();
      signal('SIGSTOP');
    },
    resume: () => {
      if (!paused) return;
      paused = false;
      if (current !== undefined || !ready) timer.resume();
      signal('SIGCONT');
    },
    kill: () => {
      signal('SIGKILL');
      return closed;
    },
  };
};
