import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Clock } from '../lib/clock.js';
import { createLineReader } from '../lib/line-reader.js';
import { watchCpu } from './job-limits.js';
import type { FedInput, FedOutput, FromChild, MediaJob, ToChild } from './protocol.js';

const START_LIMIT_MS = 30_000;
/**
 * If a file makes its process start another one outside the group, that process could keep the
 * pipes of the ended one open forever.
 */
const PIPES_LIMIT_MS = 3_000;
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

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
}

/** What a job tells while it runs. */
export interface JobListener {
  readonly onProgress?: (fraction: number) => void;
  /** The content is not checked: a malicious file may control the process. */
  readonly onOutput?: (output: FedOutput) => void;
}

/** A job that the process was given. */
interface CurrentJob {
  readonly id: number;
  readonly job: MediaJob;
  readonly limits: JobLimits;
  readonly listener: JobListener;
  readonly settle: (outcome: Outcome) => void;
}

/**
 * A child process that runs one media job at a time. It waits for jobs as soon as it is
 * constructed. If the system can't start it, it is a process that has ended; the constructor never
 * throws.
 */
export class MediaProcess {
  /** Resolves when the process can take jobs; rejects if it ends before. */
  readonly started: Promise<void>;
  /** Resolves when no part of the process is left. */
  readonly closed: Promise<void>;
  private readonly child: ChildProcess | undefined;
  private readonly channel: Socket | undefined;
  private isAlive = true;
  private isReady = false;
  private isPaused = false;
  private jobs = 0;
  private lastId = 0;
  private busy = 0;
  private stderr = '';
  /** Why it was killed. */
  private endReason: string | undefined;
  private isOverCpuLimit = false;
  private cpuWatch: NodeJS.Timeout | undefined;
  /** Limits the start, then each job. */
  private timer: PausableTimer;
  private current: CurrentJob | undefined;
  private onStarted!: () => void;
  private onNotStarted!: (error: Error) => void;
  private onClosed!: () => void;

  constructor(
    command: Command,
    /** Runs at nice 10 for its whole life: raising a priority again requires privileges. */
    readonly background: boolean,
    private readonly clock: Clock,
  ) {
    this.started = new Promise<void>((resolve, reject) => {
      this.onStarted = resolve;
      this.onNotStarted = reject;
    });
    // Callers that await it see its failure; without them the rejection must not be reported.
    this.started.catch(() => undefined);
    this.closed = new Promise((resolve) => {
      this.onClosed = resolve;
    });
    this.timer = new PausableTimer(clock, START_LIMIT_MS, () => this.expire('did not start in time'));
    try {
      this.child = spawnProcess(command, background);
      this.channel = this.child.stdio[3] as Socket;
      this.listen(this.child, this.channel);
    } catch (error) {
      // Without memory or descriptors, `spawn` throws or omits the channel instead of emitting an
      // error.
      this.endReason = error instanceof Error ? error.message : String(error);
      this.end(this.endReason);
    }
  }

  get alive(): boolean {
    return this.isAlive;
  }

  /** The number of jobs, without those that read no file: the configuration of an encoder. */
  get jobsStarted(): number {
    return this.jobs;
  }

  /** Time spent on jobs, without paused time. */
  get busyMs(): number {
    return this.busy;
  }

  /** Never rejects. Runs one job at a time. */
  async perform(job: MediaJob, limits: JobLimits, listener: JobListener): Promise<Outcome> {
    if (job.kind !== 'video-config') this.jobs += 1;
    this.lastId += 1;
    if (!this.isAlive) return { type: 'crashed', beforeStart: true, reason: this.endReason ?? 'ended while idle' };
    const outcome = await new Promise<Outcome>((settle) => {
      this.current = { id: this.lastId, job, limits, listener, settle };
      this.begin();
    });
    // For a process that ended before it was ready: its startup time.
    this.busy += this.timer.elapsedMs;
    return outcome;
  }

  /** Passes an input to the running job, also before the process is ready. */
  feed(input: FedInput): void {
    const id = this.lastId;
    // The job is sent in the same turn in which this resolves, before the callback runs.
    this.started.then(
      () => this.send({ type: 'input', id, input }),
      () => undefined,
    );
  }

  /** Pauses the process and its deadline. */
  pause(): void {
    this.isPaused = true;
    this.timer.pause();
    this.signal('SIGSTOP');
  }

  resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    if (this.current !== undefined || !this.isReady) this.timer.resume();
    this.signal('SIGCONT');
  }

  /** Kills the whole process group and waits until it is gone. */
  kill(): Promise<void> {
    this.signal('SIGKILL');
    return this.closed;
  }

  private listen(child: ChildProcess, channel: Socket): void {
    onceGone(child, channel, (reason) => this.end(reason));
    child.stderr?.on('data', (chunk: Buffer) => {
      this.stderr = (this.stderr + chunk.toString('utf8')).slice(-STDERR_TAIL_CHARACTERS);
    });
    // A failed write means that the process is ending; `close` follows and settles the job.
    channel.on('error', () => undefined);
    const misbehave = () => this.expire('it sent what is no message');
    const onLine = (line: string): void => {
      const message = parseMessage(line);
      if (message === undefined) misbehave();
      else this.receive(message);
    };
    channel.setEncoding('utf8').on('data', createLineReader(MESSAGE_LIMIT_CHARACTERS, onLine, misbehave));
  }

  private receive(message: FromChild): void {
    if (message.type === 'ready') {
      if (this.isReady) return;
      this.isReady = true;
      this.onStarted();
      this.timer.pause();
      this.begin();
    } else if (message.id !== this.current?.id) {
      // A message about a job that has already ended.
    } else if (message.type === 'progress') {
      this.current.listener.onProgress?.(message.fraction);
    } else if (message.type === 'output') {
      this.current.listener.onOutput?.(message.output);
    } else {
      this.settle(message);
    }
  }

  /** Sends the current job once the process is ready. */
  private begin(): void {
    if (!this.isReady || this.current === undefined) return;
    const { id, job, limits } = this.current;
    const { deadlineMs, cpuMs } = limits;
    this.timer = new PausableTimer(this.clock, deadlineMs, () => this.expire(`deadline of ${deadlineMs} ms passed`));
    if (cpuMs !== undefined) this.cpuWatch = watchCpu(this.child!.pid!, cpuMs, () => this.overCpu(cpuMs));
    if (this.isPaused) this.timer.pause();
    this.send({ type: 'run', id, job });
  }

  private send(message: ToChild): void {
    if (this.isAlive) this.channel!.write(`${JSON.stringify(message)}\n`);
  }

  private settle(outcome: Outcome): void {
    this.timer.pause();
    clearInterval(this.cpuWatch);
    const settled = this.current;
    this.current = undefined;
    settled?.settle(outcome);
  }

  private overCpu(limitMs: number): void {
    this.isOverCpuLimit = true;
    this.expire(`CPU time of ${limitMs} ms is used up`);
  }

  private expire(reason: string): void {
    this.endReason = reason;
    this.signal('SIGKILL');
  }

  private signal(name: NodeJS.Signals): void {
    if (this.isAlive && this.child) signalGroup(this.child, name);
  }

  /** No part of the process is left. */
  private end(exit: string): void {
    this.isAlive = false;
    const reason = [this.endReason ?? exit, this.stderr.trim()].filter(Boolean).join(': ');
    this.onNotStarted(new Error(reason));
    this.settle({
      type: 'crashed',
      beforeStart: !this.isReady,
      reason,
      ...(this.isOverCpuLimit && { overCpuLimit: true }),
    });
    this.onClosed();
  }
}

/** A one-shot timer that can be paused. */
class PausableTimer {
  private remainingMs: number;
  private startedMs = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly limitMs: number,
    private readonly onExpired: () => void,
  ) {
    this.remainingMs = limitMs;
    this.resume();
  }

  resume(): void {
    if (this.timer !== undefined) return;
    this.startedMs = this.clock.monotonicMs();
    this.timer = setTimeout(this.onExpired, this.remainingMs);
  }

  pause(): void {
    if (this.timer === undefined) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.remainingMs -= this.clock.monotonicMs() - this.startedMs;
  }

  /** Time without pauses. */
  get elapsedMs(): number {
    const runningMs = this.timer === undefined ? 0 : this.clock.monotonicMs() - this.startedMs;
    return this.limitMs - this.remainingMs + runningMs;
  }
}

/** Its environment has no secret of the server. */
const spawnProcess = ({ file, args }: Command, background: boolean): ChildProcess => {
  const child = spawn(file, background ? [...args, 'background'] : args, {
    cwd: '/',
    // The encoder of AV1 otherwise describes itself on standard error.
    env: { SVT_LOG: '1' },
    // Messages use descriptor 3. Node's own IPC channel would throw in this process on a line that
    // is not JSON.
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    // Its own process group, so that one signal reaches the sandbox tools and the process.
    detached: true,
  });
  if (child.stdio?.[3]) return child;
  // The error event that follows adds no information.
  child.once('error', () => undefined);
  throw new Error('no channel to a media process could be made');
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

/** Calls `onGone` when no part of the process is left, or when it never started. */
const onceGone = (child: ChildProcess, channel: Socket, onGone: (reason: string) => void): void => {
  // `close` instead of `exit`: the pipe closes only when the last process of the group that holds
  // it has ended.
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
      case 'output':
        return isRecord(message.output) ? (message as FromChild) : undefined;
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
