import { mkdirSync } from 'node:fs';
import { CANCELLED, SHUTDOWN } from '../lib/abort.js';
import { KinoraError } from '../lib/errors.js';
import { refusals } from '../media/source/refusals.js';
import type { Metrics } from '../telemetry/metrics.js';
import { cpuLimitOf } from './cpu-limit.js';
import { type MediaPool, type MediaPriority, mediaPriority, type RunOptions } from './media-pool.js';
import type { MediaProcess, Outcome } from './media-process.js';
import { mediaSeconds } from './media-seconds.js';
import { createProcesses } from './processes.js';
import type { MediaJob, MediaResults } from './protocol.js';
import { chooseSandbox, type SandboxOptions } from './sandbox.js';
import { schedule } from './scheduler.js';

export interface MediaPoolOptions extends SandboxOptions {
  /** Jobs at a time; background work leaves one of them free when there is more than one. */
  readonly size: number;
  /** A process is replaced after so many jobs; 200 when absent. */
  readonly jobsPerProcess?: number;
  /** Wall-clock limits per kind of job in place of the defaults. */
  readonly deadlinesMs?: Partial<Record<MediaJob['kind'], number>>;
  /** CPU time for what a file says of itself, in place of the default. */
  readonly headerCpuMs?: number;
  readonly metrics?: Metrics;
}

type Result = MediaResults[MediaJob['kind']];

interface Entry {
  readonly job: MediaJob;
  readonly sequence: number;
  readonly deadlineMs: number;
  readonly onProgress: (fraction: number) => void;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: KinoraError) => void;
  priority: MediaPriority;
  state: 'waiting' | 'running' | 'paused';
  fresh: boolean;
  isSecondTry: boolean;
  process?: MediaProcess;
}

/** Viewers who wait behind so many others get nothing in time: those who come then are told so at once. */
const MAX_WAITING_VIEWERS_PER_PLACE = 64;

/** Generous for the slowest machine: they end work that would never end. */
const defaultDeadlineMs: Record<MediaJob['kind'], number> = {
  probe: 30_000,
  index: 15 * 60_000,
  sanity: 60_000,
  complexity: 60_000,
  'video-segment': 60_000,
  'video-config': 30_000,
  'audio-chunk': 60_000,
  loudness: 3 * 3600_000,
  mezzanine: 30 * 60_000,
  concatenate: 30 * 60_000,
  remux: 3 * 3600_000,
  sample: 5 * 60_000,
  'overlay-image': 30_000,
  still: 60_000,
  animated: 2 * 60_000,
  storyboard: 5 * 60_000,
  'shot-scores': 30 * 60_000,
  'find-speech': 30 * 60_000,
  'speech-audio': 5 * 60_000,
  'recognize-speech': 60 * 60_000,
  'frame-quality': 10 * 60_000,
};

/** Keeps a process's CPU time far below its limit. */
const BUSY_LIMIT_MS = 10 * 60_000;
/** After so long without work, used processes make way for one new one: memory goes back, the next probe starts at once. */
const IDLE_LIMIT_MS = 30_000;

const isClean = (outcome: Outcome): outcome is Exclude<Outcome, { type: 'crashed' }> =>
  outcome.type === 'done' || (outcome.type === 'failed' && outcome.clean);

const failureOf = ({ kind }: MediaJob, outcome: Exclude<Outcome, { type: 'done' }>): KinoraError => {
  if (outcome.type === 'crashed') {
    const details = { kind, reason: outcome.reason };
    // It would take as long again.
    if (outcome.overCpuLimit)
      return new KinoraError('invalid_input', {
        messages: [refusals.damagedBy('its index takes too much CPU time to read')],
        details,
      });
    return new KinoraError(outcome.beforeStart ? 'unavailable' : 'media_crashed', { details });
  }
  if (outcome.code === 'range_missing')
    return new KinoraError('range_missing', { details: { kind, missing: outcome.missing } });
  if (outcome.code === 'invalid_input') return new KinoraError('invalid_input', { messages: [outcome.message] });
  const details = { kind, reason: outcome.message };
  return new KinoraError('media_failed', { details, failure: outcome.clean ? 'fail' : 'defect' });
};

/**
 * Starts the media processes and keeps at least one of them warm.
 * @throws KinoraError `unavailable` when no media process can be started
 */
export const createMediaPool = async (options: MediaPoolOptions): Promise<MediaPool> => {
  const { size, clock, logger, memoryBytes, metrics, jobsPerProcess = 200 } = options;
  for (const directory of [...options.readDirs, options.writeDir]) mkdirSync(directory, { recursive: true });
  const sandbox = await chooseSandbox(options);

  const entries = new Set<Entry>();
  const processes = createProcesses({ sandbox, clock, logger, metrics });
  let sequence = 0;
  let stopped = false;
  let idleTimer: NodeJS.Timeout | undefined;

  const isRunning = (entry: Entry): boolean => entry.state === 'running';
  const runningCount = (): number => [...entries].filter(isRunning).length;

  const isFull = (): boolean => {
    const waiting = [...entries].filter((entry) => !isRunning(entry) && entry.priority === mediaPriority.viewer);
    return waiting.length >= MAX_WAITING_VIEWERS_PER_PLACE * size;
  };

  const keepOneWarm = (): void => {
    if (!stopped && runningCount() < size) processes.keepOneWarm();
  };

  const whenIdle = (): void => {
    processes.retireUsed();
    keepOneWarm();
  };

  const release = (child: MediaProcess, entry: Entry, outcome: Outcome): void => {
    child.resume();
    const fits =
      isClean(outcome) &&
      outcome.rssBytes <= memoryBytes / 2 &&
      child.jobsStarted < jobsPerProcess &&
      child.busyMs < BUSY_LIMIT_MS;
    if (fits && !entry.fresh && !stopped && child.alive) processes.keep(child);
    else void processes.retire(child);
  };

  const settle = (entry: Entry, outcome: Outcome): void => {
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
    else entry.reject(failureOf(entry.job, outcome));
  };

  const work = async (entry: Entry): Promise<void> => {
    const background = entry.priority >= mediaPriority.background;
    const child = processes.acquire({ background, fresh: entry.fresh }, Math.max(0, size - runningCount()));
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
  const drop = (entry: Entry, cause: unknown): void => {
    if (!entries.delete(entry)) return;
    void entry.process?.kill();
    entry.reject(new KinoraError('cancelled', { cause }));
  };

  /** Why a job is not taken. */
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
    const { signal, priority, fresh = false, onProgress = () => undefined } = runOptions;
    const deadlineMs = runOptions.deadlineMs ?? options.deadlinesMs?.[job.kind] ?? defaultDeadlineMs[job.kind];
    let onAbort = (): void => undefined;
    try {
      return await new Promise((resolve, reject) => {
        const entry: Entry = {
          ...{ job, sequence: sequence++, deadlineMs, onProgress, priority, fresh, reject },
          resolve: (result) => resolve(result as MediaResults[J['kind']]),
          state: 'waiting',
          isSecondTry: false,
        };
        onAbort = () => {
          drop(entry, signal?.reason);
          reconcile();
        };
        signal?.addEventListener('abort', onAbort, { once: true });
        entries.add(entry);
        reconcile();
      });
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
