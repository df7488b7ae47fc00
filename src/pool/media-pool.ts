import { mkdirSync } from 'node:fs';
import { CANCELLED, cancelled, SHUTDOWN } from '../lib/abort.js';
import { KinoraError } from '../lib/errors.js';
import type { Metrics } from '../telemetry/metrics.js';
import { cpuLimitOf, defaultDeadlineMs } from './job-limits.js';
import type { MediaProcess, Outcome } from './media-process.js';
import { PoolTask, type TaskOptions } from './pool-task.js';
import { Processes } from './processes.js';
import type { FedJobs, FedKind, LastInput, MediaJob, MediaResults } from './protocol.js';
import { chooseSandbox, type Sandbox, type SandboxOptions } from './sandbox.js';
import { type MediaPriority, mediaPriority, schedule } from './scheduler.js';

// Other rooms may import only this file; the scheduler, which defines them, can't import it.
export { type MediaPriority, mediaPriority };

export interface RunOptions extends TaskOptions {
  /** Abort ends the wait immediately; the process is killed if it already works on the job. */
  readonly signal?: AbortSignal | undefined;
}

/** A job that is fed while it runs. */
export interface FedJob<K extends FedKind> {
  feed(input: FedJobs[K]['input'] | LastInput): void;
  /** How it ended: undefined after its last input, else why its process is gone. Never rejects. */
  readonly ended: Promise<string | undefined>;
  /** Kills the process and waits until it is gone. */
  close(): Promise<void>;
}

export interface MediaPoolOptions extends SandboxOptions {
  /** Concurrent jobs; background work leaves one slot free when there is more than one. */
  readonly size: number;
  /** A process is replaced after this many jobs; the default is 200. */
  readonly jobsPerProcess?: number;
  /** Wall-clock limits per kind of job that replace the defaults. */
  readonly deadlinesMs?: Partial<Record<MediaJob['kind'], number>> | undefined;
  /** CPU time for reading a file's headers; replaces the default. */
  readonly headerCpuMs?: number;
  readonly metrics?: Metrics;
}

/** Viewers who wait behind so many others get nothing in time: later ones are rejected at once. */
const MAX_WAITING_VIEWERS_PER_SLOT = 64;
const JOBS_PER_PROCESS = 200;
/** Keeps a process's CPU time far below its limit. */
const BUSY_LIMIT_MS = 10 * 60_000;
/**
 * After this long without work, used processes are replaced by a single new one: memory is freed,
 * and the next probe starts immediately.
 */
const IDLE_LIMIT_MS = 30_000;
/**
 * After this long without work, the processes that ingests have used up are replaced, so that the
 * next one does not wait for their start.
 */
const REPLACE_AFTER_MS = 200;

/**
 * The probe of an ingest is followed by two jobs at a time: the sanity check, and the index and the
 * first segments.
 */
const INGEST_PROCESSES = 2;

const WAITING = {
  name: 'kinora_media_waiting_seconds',
  help: 'Seconds of media that wait for a media process',
  labels: ['priority'],
} as const;

const isClean = (outcome: Outcome): outcome is Exclude<Outcome, { type: 'crashed' }> =>
  outcome.type === 'done' || (outcome.type === 'failed' && outcome.clean);

const isReusable = (
  child: MediaProcess,
  outcome: Outcome,
  { memoryBytes, jobsPerProcess = JOBS_PER_PROCESS }: MediaPoolOptions,
): boolean =>
  child.alive &&
  isClean(outcome) &&
  outcome.rssBytes <= memoryBytes / 2 &&
  child.jobsStarted < jobsPerProcess &&
  child.busyMs < BUSY_LIMIT_MS;

/** Whether another fresh job on the same file follows. */
const isContinued = (task: PoolTask, outcome: Outcome): boolean =>
  task.ownFile !== undefined && (task.isContinued || (outcome.type === 'failed' && outcome.code === 'range_missing'));

/**
 * The parent's side of the media processes. When more urgent work needs a slot, less urgent work is
 * paused and continues later; one job of an ingest always goes on. At least one process stays warm.
 */
export class MediaPool {
  /** The isolation of the processes, for the log and `doctor`. */
  readonly sandbox: string;
  /** How to get stronger isolation; absent when this is the strongest. */
  readonly sandboxAdvice: string | undefined;
  private readonly tasks = new Set<PoolTask>();
  private readonly processes: Processes;
  private sequence = 0;
  private isStopped = false;
  private idleTimer: NodeJS.Timeout | undefined;
  private replaceTimer: NodeJS.Timeout | undefined;
  /** A fresh process was used up since they were replaced. */
  private isUsedUp = false;

  /** @throws KinoraError `unavailable` when no media process can be started */
  static async start(options: MediaPoolOptions): Promise<MediaPool> {
    for (const directory of [...options.readDirs, options.writeDir]) mkdirSync(directory, { recursive: true });
    const { sandbox, child } = await chooseSandbox(options);
    return new MediaPool(options, sandbox, child);
  }

  private constructor(
    private readonly options: MediaPoolOptions,
    sandbox: Sandbox,
    first: MediaProcess,
  ) {
    const { clock, logger, metrics } = options;
    this.sandbox = sandbox.description;
    this.sandboxAdvice = sandbox.advice;
    this.processes = new Processes({ sandbox, first, clock, logger, metrics });
    metrics?.watch(WAITING, async () => this.waitingSeconds());
    this.reconcile();
  }

  /**
   * @throws KinoraError `invalid_input` (not media, or reading it takes more CPU time than its size
   * can explain), `media_failed` (FFmpeg reported an error), `media_crashed` (the process died or
   * the deadline passed; retried once alone in a new process before it is thrown), `unavailable`
   * (no process could be started, which is not the source's fault; or too many viewers already
   * wait), `cancelled`
   */
  async run<J extends MediaJob>(job: J, options: RunOptions): Promise<MediaResults[J['kind']]> {
    const rejection = this.rejectionOf(options);
    if (rejection) throw rejection;
    const { signal } = options;
    const deadlineMs = options.deadlineMs ?? this.options.deadlinesMs?.[job.kind];
    const task = new PoolTask(job, this.sequence++, { ...options, deadlineMs });
    const onAbort = (): void => {
      this.drop(task, signal?.reason);
      this.reconcile();
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      this.tasks.add(task);
      this.reconcile();
      return (await task.result) as MediaResults[J['kind']];
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /**
   * Starts a job that is fed while it runs, in a process of its own. It runs beside the slots: it
   * may last for hours, and no viewer of another video shall wait for its end.
   * @param onOutput gets what the job says, which is not checked: a malicious stream may control
   * the process
   */
  open<K extends FedKind>(job: FedJobs[K]['job'], onOutput: (output: FedJobs[K]['output']) => void): FedJob<K> {
    const child = this.processes.acquire({ background: false, fresh: true }, this.options.size);
    const limits = { deadlineMs: defaultDeadlineMs(job, mediaPriority.viewer) };
    let isClosed = false;
    const ended = child.perform(job, limits, { onOutput }).then((outcome) => {
      void this.processes.retire(child);
      if (outcome.type === 'done') return undefined;
      if (!this.isStopped && !isClosed) this.options.metrics?.mediaProcessLost(job.kind);
      return outcome.type === 'crashed' ? outcome.reason : outcome.message;
    });
    this.keepOneWarm();
    const close = (): Promise<void> => {
      isClosed = true;
      return child.kill();
    };
    return { feed: (input) => child.feed(input), ended, close };
  }

  /** Starts the processes that the ingest of a file needs next, unless enough of them wait. */
  prepare(): void {
    if (this.isStopped) return;
    this.startForIngest();
    this.reconcile();
  }

  /**
   * Raises a queued job's priority when a viewer waits for a segment that was read ahead. `job` is
   * the object passed to `run`.
   */
  promote(job: MediaJob, priority: MediaPriority): void {
    for (const task of this.tasks) if (task.job === job && priority < task.priority) task.priority = priority;
    this.reconcile();
  }

  /**
   * Resolves when a media process exists or a new one has started; rejects when none can be
   * started.
   */
  async check(): Promise<void> {
    this.keepOneWarm();
    await this.processes.check();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.stopTimers();
    for (const task of [...this.tasks]) this.drop(task, SHUTDOWN);
    await this.processes.stop();
  }

  private rejectionOf({ signal, priority }: RunOptions): KinoraError | undefined {
    if (this.isStopped) return cancelled(signal, SHUTDOWN);
    if (signal?.aborted) return cancelled(signal, signal.reason ?? CANCELLED);
    const maxWaiting = MAX_WAITING_VIEWERS_PER_SLOT * this.options.size;
    if (priority === mediaPriority.viewer && this.waiting(priority).length >= maxWaiting)
      return new KinoraError('unavailable', { details: { reason: 'too many viewers wait' } });
    return undefined;
  }

  /** Starts, resumes and pauses tasks as the scheduler decides. Called after every change. */
  private reconcile(): void {
    if (this.isStopped) return;
    this.stopTimers();
    for (const { action, job: task } of schedule(this.tasks, this.options.size)) {
      task.state = action === 'pause' ? 'paused' : 'running';
      if (action === 'start') void this.runTask(task);
      else if (action === 'pause') task.process?.pause();
      else task.process?.resume();
    }
    this.keepOneWarm();
    if (this.tasks.size > 0) return;
    this.idleTimer = setTimeout(() => this.whenIdle(), IDLE_LIMIT_MS).unref();
    if (this.isUsedUp) this.replaceTimer = setTimeout(() => this.replaceUsedUp(), REPLACE_AFTER_MS).unref();
  }

  private stopTimers(): void {
    clearTimeout(this.idleTimer);
    clearTimeout(this.replaceTimer);
  }

  private async runTask(task: PoolTask): Promise<void> {
    const { metrics, headerCpuMs } = this.options;
    const background = task.priority >= mediaPriority.background;
    const needs = { background, fresh: task.fresh, ownFile: task.ownFile };
    const child = this.processes.acquire(needs, this.roomBeside(task, background));
    task.process = child;
    this.isUsedUp ||= task.fresh;
    const busyMs = child.busyMs;
    const limits = { deadlineMs: task.deadlineMs, cpuMs: cpuLimitOf(task.job, headerCpuMs) };
    const outcome = await child.perform(task.job, limits, { onProgress: task.onProgress });
    task.process = undefined;
    const media = outcome.type === 'done' && task.media;
    if (media) metrics?.mediaMade(media.kind, media.seconds, child.busyMs - busyMs);
    this.release(child, task, outcome);
    if (this.tasks.has(task)) this.settle(task, outcome);
    this.reconcile();
  }

  /** How many processes for viewers may be idle while the task runs. */
  private roomBeside(task: PoolTask, background: boolean): number {
    // The process of a fresh job does not stay.
    const stays = (each: PoolTask): boolean => (each === task ? !background : each.process?.background === false);
    const staying = this.running().filter((each) => !each.fresh && stays(each));
    return Math.max(0, this.options.size - staying.length);
  }

  private release(child: MediaProcess, task: PoolTask, outcome: Outcome): void {
    child.resume();
    const isUsedOn = isReusable(child, outcome, this.options) && !this.isStopped;
    if (isUsedOn && !task.fresh) this.processes.release(child);
    else if (isUsedOn && isContinued(task, outcome)) this.processes.keep(child, task.ownFile!);
    else void this.processes.retire(child);
  }

  private settle(task: PoolTask, outcome: Outcome): void {
    const { metrics, logger } = this.options;
    if (outcome.type === 'crashed') {
      metrics?.mediaProcessLost(task.job.kind);
      const fields = { kind: task.job.kind, reason: outcome.reason, second_try: task.isSecondTry };
      logger.warn(fields, 'media process exited before its job ended');
      if (!outcome.overCpuLimit && !task.isSecondTry) {
        task.retry();
        return;
      }
    }
    this.tasks.delete(task);
    task.settle(outcome);
  }

  /** Ends the wait at once; the process dies because nothing can interrupt FFmpeg inside a call. */
  private drop(task: PoolTask, cause: unknown): void {
    if (!this.tasks.delete(task)) return;
    void task.process?.kill();
    task.cancel(cause);
  }

  private keepOneWarm(): void {
    if (!this.isStopped && this.running().length < this.options.size) this.processes.keepOneWarm();
  }

  private replaceUsedUp(): void {
    this.isUsedUp = false;
    this.startForIngest();
  }

  private startForIngest(): void {
    this.processes.prepare(Math.min(INGEST_PROCESSES, this.options.size - this.running().length));
  }

  private whenIdle(): void {
    this.processes.retireSurplus();
    this.keepOneWarm();
  }

  private running(): PoolTask[] {
    return [...this.tasks].filter(({ state }) => state === 'running');
  }

  private waiting(priority: MediaPriority): PoolTask[] {
    return [...this.tasks].filter((task) => task.state !== 'running' && task.priority === priority);
  }

  private waitingSeconds(): { labels: { priority: string }; value: number }[] {
    return Object.entries(mediaPriority).map(([name, priority]) => ({
      labels: { priority: name },
      value: this.waiting(priority).reduce((sum, { media }) => sum + (media?.seconds ?? 0), 0),
    }));
  }
}
