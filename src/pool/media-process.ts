import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Clock } from '../lib/clock.js';
import { createLineReader } from '../lib/line-reader.js';
import { cpuTimeMs } from './cpu-time.js';
import type { FromChild, MediaJob, ToChild } from './protocol.js';

const START_LIMIT_MS = 30_000;
/** A process of another group that its file made could keep the pipes of an ended process open forever. */
const PIPES_LIMIT_MS = 3_000;
const CPU_WATCH_MS = 250;
const STDERR_TAIL_CHARACTERS = 4096;
const MESSAGE_LIMIT_CHARACTERS = 4 * 2 ** 20;

/** How one job ended in a media process. */
export type Outcome =
  | Extract<FromChild, { type: 'done' | 'failed' }>
  /** `beforeStart`: the process never came up, so the job is not to blame. */
  | { readonly type: 'crashed'; readonly beforeStart: boolean; readonly reason: string; readonly overCpuLimit?: true };

export interface JobLimits {
  /** Wall clock, without the time on hold. */
  readonly deadlineMs: number;
  /** Computing time of the process, where the system tells it. */
  readonly cpuMs?: number | undefined;
}

export interface MediaProcess {
  /** Runs at nice 19 for its whole life: a priority can't be raised again without privileges. */
  readonly background: boolean;
  readonly jobsStarted: number;
  /** Spent on jobs, without the time on hold. */
  readonly busyMs: number;
  readonly alive: boolean;
  /** Settles when the process can take work; rejects when it ends before. */
  readonly started: Promise<void>;
  /** Never rejects. One job at a time. */
  run(job: MediaJob, limits: JobLimits, onProgress: (fraction: number) => void): Promise<Outcome>;
  /** Stops the process and its deadline. */
  pause(): void;
  resume(): void;
  /** Ends the whole process group and waits until it is gone. */
  kill(): Promise<void>;
  /** Settles when nothing of the process is left. */
  readonly closed: Promise<void>;
}

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
}

/** A one-shot timer that can be held. */
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
  /** Without the time on hold. */
  const elapsedMs = (): number => limitMs - remainingMs + (timer === undefined ? 0 : clock.monotonicMs() - startedMs);
  return { pause, resume, elapsedMs };
};

const isRecord = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

const isByteRange = (value: unknown): boolean => {
  const { start, end } = (value ?? {}) as Partial<Record<string, number>>;
  return Number.isSafeInteger(start) && Number.isSafeInteger(end) && start! >= 0 && start! < end!;
};

/** Undefined for anything that is no message: the process may be in the hands of its file. */
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
        if (message.code === 'range_missing' && !isByteRange(message.missing)) return undefined;
        return typeof message.message === 'string' ? (message as FromChild) : undefined;
      default:
        return undefined;
    }
  } catch {
    // No JSON is no message.
    return undefined;
  }
};

/** Whoever waits for it sees its failure; that nobody does is no failure. */
const settledQuietly = (promise: Promise<void>): Promise<void> => {
  promise.catch(() => undefined);
  return promise;
};

/** A process that never came up. */
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

/** Its environment is empty: no secret of the server can reach it. */
const spawnProcess = (command: Command): ChildProcess => {
  const child = spawn(command.file, command.args, {
    cwd: '/',
    env: {},
    // Messages go through descriptor 3. Node's own IPC channel would throw in this process at a line that is no JSON.
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    // A group of its own, so that one signal reaches the sandbox tools and the process alike.
    detached: true,
  });
  if (child.stdio?.[3]) return child;
  // The error event that follows says no more.
  child.once('error', () => undefined);
  throw new Error('no channel to a media process could be made');
};

/** Starts a media process that waits for jobs. Never throws: a process that can't be started is one that has ended. */
export const startMediaProcess = (command: Command, background: boolean, clock: Clock): MediaProcess => {
  let child: ChildProcess;
  try {
    child = spawnProcess(command);
  } catch (error) {
    // Without memory or descriptors `spawn` throws, or leaves out the channel, where otherwise it emits its error.
    return deadProcess(background, error instanceof Error ? error.message : String(error));
  }
  return watchProcess(child, background, clock);
};

/** To every process of the group. */
const signalGroup = (child: ChildProcess, name: NodeJS.Signals): void => {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, name);
  } catch {
    // The group has ended already: what the signal was for is done.
  }
};

const watchCpu = (pid: number, limitMs: number, onOver: () => void): NodeJS.Timeout => {
  const startMs = cpuTimeMs(pid);
  return setInterval(() => {
    const nowMs = cpuTimeMs(pid);
    if (startMs !== undefined && nowMs !== undefined && nowMs - startMs >= limitMs) onOver();
  }, CPU_WATCH_MS);
};

/** Calls `onGone` when nothing of the process is left, or it never was. */
const onceGone = (child: ChildProcess, channel: Socket, onGone: (reason: string) => void): void => {
  // `close` instead of `exit`: the pipe closes only when the last process of the group that holds it is gone.
  child.once('close', (code, name) => onGone(name === null ? `exit code ${code}` : `signal ${name}`));
  child.once('exit', () => {
    const limit = setTimeout(() => {
      signalGroup(child, 'SIGKILL');
      // Closing this end of them brings about `close`.
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
  // A failed write means that the process ends; `close` follows and settles the job.
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
      // About a job that has ended already.
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
      jobsStarted += 1;
      if (!alive) return { type: 'crashed', beforeStart: true, reason: endReason ?? 'ended while idle' };
      const outcome = await new Promise<Outcome>((settled) => {
        current = { id: jobsStarted, job, limits, onProgress, settle: settled };
        begin();
      });
      // Of a process that ended before it was ready, the time that it was given to start.
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
