import { mkdirSync } from 'node:fs';
import { CANCELLED, SHUTDOWN } from '../lib/abort.js';
import { KinoraError } from '../lib/errors.js';
import type { Metrics } from '../telemetry/metrics.js';
import { cpuLimitOf } from './cpu-limit.js';
import { jobFailure } from './job-failure.js';
import { type MediaPool, mediaPriority, type RunOptions } from './media-pool.js';
import type { MediaProcess, Outcome } from './media-process.js';
import { mediaSeconds } from './media-seconds.js';
import { createPoolEntry, type PoolEntry } from './pool-entry.js';
import { createProcesses } from './processes.js';
import type { MediaJob, MediaResults } from './protocol.js';
import { chooseSandbox, type SandboxOptions } from './sandbox.js';
import { schedule } from './scheduler.js';

export interface MediaPoolOptions extends SandboxOptions {
  /** Concurrent jobs; background work leaves one slot free when there is more than one. */
  readonly size: number;
  /** A process is replaced after this many jobs; the default is 200. */
  readonly jobsPerProcess?: number;
  /** Wall-clock limits per kind of job that replace the defaults. */
  readonly deadlinesMs?: Partial<Record<MediaJob['kind'], number>>;
  /** CPU time for reading a file's headers; replaces the default. */
  readonly headerCpuMs?: number;
  readonly metrics?: Metrics;
}

/** Viewers who wait behind so many others get nothing in time: those who come then are told so at once. */
const MAX_WAITING_VIEWERS_PER_PLACE = 64;
const JOBS_PER_PROCESS = 200;
/** Keeps a process's CPU time far below its limit. */
const BUSY_LIMIT_MS = 10 * 60_000;
/**
 * After this long without work, used processes are replaced by a single new one: memory is freed, and the next probe
 * starts immediately.
 */
const IDLE_LIMIT_MS = 30_000;

/** The probe of an ingest is followed by two jobs at a time: the sanity check, and the index and the first segments. */
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

/**
 * Starts the media processes and keeps at least one of them warm.
 * @throws KinoraError `unavailable` when no media process can be started
 */
export const createMediaPool = async (options: MediaPoolOptions): Promise<MediaPool> => {
  const { size, clock, logger, metrics } = options;
  for (const directory of [...options.readDirs, options.writeDir]) mkdirSync(directory, { recursive: true });
  const { sandbox, child } = await chooseSandbox(options);

  const entries = new Set<PoolEntry>();
  const processes = createProcesses({ sandbox, first: child, clock, logger, metrics });
  let sequence = 0;
  let stopped = false;
  let idleTimer: NodeJS.Timeout | undefined;

  const isRunning = (entry: PoolEntry): boolean => entry.state === 'running';
  const runningCount = (): number => [...entries].filter(isRunning).length;

  metrics?.watch(WAITING, async () =>
    Object.entries(mediaPriority).map(([name, priority]) => {
      const waiting = [...entries].filter((entry) => !isRunning(entry) && entry.priority === priority);
      const value = waiting.reduce((sum, { job }) => sum + (mediaSeconds(job)?.seconds ?? 0), 0);
      return { labels: { priority: name }, value };
    }),
  );

  const isFull = (): boolean => {
    const waiting = [...entries].filter((entry) => !isRunning(entry) && entry.priority === mediaPriority.viewer);
    return waiting.length >= MAX_WAITING_VIEWERS_PER_PLACE * size;
  };

  const keepOneWarm = (): void => {
    if (!stopped && runningCount() < size) processes.keepOneWarm();
  };

  const whenIdle = (): void => {
    processes.retireSurplus();
    keepOneWarm();
  };

  const release = (child: MediaProcess, entry: PoolEntry, outcome: Outcome): void => {
    child.resume();
    if (isReusable(child, outcome, options) && !entry.fresh && !stopped) processes.keep(child);
    else void processes.retire(child);
  };

  const settle = (entry: PoolEntry, outcome: Outcome): void => {
    if (outcome.type === 'crashed') {
      metrics?.mediaProcessLost(entry.job.kind);
      const fields = { kind: entry.job.kind, reason: outcome.reason, second_try: entry.isSecondTry };
      logger.warn(fields, 'media process exited before its job ended');
      if (!outcome.overCpuLimit && !entry.isSecondTry) {
        Object.assign(entry, { isSecondTry: true, fresh: true, state: 'waiting' });
        return;
      }
    }
    entries.delete(entry);
    if (outcome.type === 'done') entry.resolve(outcome.result);
    else entry.reject(jobFailure(entry.job, outcome));
  };

  /** How many processes for viewers may wait while the job runs. */
  const roomBeside = (entry: PoolEntry, background: boolean): number => {
    // The process of a fresh job does not stay.
    const stays = (each: PoolEntry): boolean => (each === entry ? !background : each.process?.background === false);
    const staying = [...entries].filter((each) => isRunning(each) && !each.fresh && stays(each));
    return Math.max(0, size - staying.length);
  };

  const work = async (entry: PoolEntry): Promise<void> => {
    const background = entry.priority >= mediaPriority.background;
    const child = processes.acquire({ background, fresh: entry.fresh }, roomBeside(entry, background));
    entry.process = child;
    const busyMs = child.busyMs;
    const limits = { deadlineMs: entry.deadlineMs, cpuMs: cpuLimitOf(entry.job, options.headerCpuMs) };
    const outcome = await child.run(entry.job, limits, entry.onProgress);
    delete entry.process;
    const made = outcome.type === 'done' && mediaSeconds(entry.job);
    if (made) metrics?.mediaMade(made.kind, made.seconds, child.busyMs - busyMs);
    release(child, entry, outcome);
    if (entries.has(entry)) settle(entry, outcome);
    reconcile();
  };

  const reconcile = (): void => {
    if (stopped) return;
    clearTimeout(idleTimer);
    for (const { action, job: entry } of schedule(entries, size)) {
      entry.state = action === 'pause' ? 'paused' : 'running';
      if (action === 'start') void work(entry);
      else if (action === 'pause') entry.process?.pause();
      else entry.process?.resume();
    }
    keepOneWarm();
    if (entries.size === 0) idleTimer = setTimeout(whenIdle, IDLE_LIMIT_MS).unref();
  };

  /** Ends the wait at once; the process dies because nothing can interrupt FFmpeg inside a call. */
  const drop = (entry: PoolEntry, cause: unknown): void => {
    if (!entries.delete(entry)) return;
    void entry.process?.kill();
    entry.reject(new KinoraError('cancelled', { cause }));
  };

  /** Why a job is refused. */
  const refusalOf = ({ signal, priority }: RunOptions): KinoraError | undefined => {
    if (stopped) return new KinoraError('cancelled', { cause: SHUTDOWN });
    if (signal?.aborted) return new KinoraError('cancelled', { cause: signal.reason ?? CANCELLED });
    if (priority === mediaPriority.viewer && isFull())
      return new KinoraError('unavailable', { details: { reason: 'too many viewers wait' } });
    return undefined;
  };

  const run = async <J extends MediaJob>(job: J, runOptions: RunOptions): Promise<MediaResults[J['kind']]> => {
    const refusal = refusalOf(runOptions);
    if (refusal) throw refusal;
    const { signal } = runOptions;
    const deadlineMs = runOptions.deadlineMs ?? options.deadlinesMs?.[job.kind];
    const { entry, result } = createPoolEntry(job, sequence++, {
      ...runOptions,
      ...(deadlineMs !== undefined && { deadlineMs }),
    });
    const onAbort = (): void => {
      drop(entry, signal?.reason);
      reconcile();
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      entries.add(entry);
      reconcile();
      return await result;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  };

  reconcile();

  return {
    sandbox: sandbox.description,
    ...(sandbox.advice !== undefined && { sandboxAdvice: sandbox.advice }),
    run,
    check: async () => {
      keepOneWarm();
      await processes.check();
    },
    prepare: () => {
      if (stopped) return;
      processes.prepare(Math.min(INGEST_PROCESSES, size - runningCount()));
      reconcile();
    },
    promote: (job, priority) => {
      for (const entry of entries) if (entry.job === job && priority < entry.priority) entry.priority = priority;
      reconcile();
    },
    stop: async () => {
      stopped = true;
      clearTimeout(idleTimer);
      for (const entry of [...entries]) drop(entry, SHUTDOWN);
      await processes.stop();
    },
  };
};
