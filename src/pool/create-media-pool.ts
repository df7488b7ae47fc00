import { mkdirSync } from 'node:fs';
import { CANCELLED, SHUTDOWN } from '../lib/abort.js';
import { KinoraError } from '../lib/errors.js';
import { refusals } from '../media/source/refusals.js';
import type { Metrics } from '../telemetry/metrics.js';
import { cpuLimitOf } from './cpu-limit.js';
import { type MediaPool, type MediaPriority, mediaPriority, type RunOptions } from './media-pool.js';
import { type MediaProcess, type Outcome, startMediaProcess } from './media-process.js';
import { mediaSeconds } from './media-seconds.js';
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

/** Fastest first: what viewers may use, and of that what has its code compiled and its sources open. */
const bySpeed = (waiting: MediaProcess[]): MediaProcess[] =>
  waiting.sort((a, b) => Number(a.background) - Number(b.background) || b.jobsStarted - a.jobsStarted);

/** Keeps a process's CPU time far below its limit. */
const BUSY_LIMIT_MS = 10 * 60_000;
/** After so long without work, used processes make way for one new one: memory goes back, the next probe starts at once. */
const IDLE_LIMIT_MS = 30_000;

/**
 * Starts the media processes and keeps at least one of them warm.
 * @throws KinoraError `unavailable` when no media process can be started
 */
export const createMediaPool = async (options: MediaPoolOptions): Promise<MediaPool> => {
  const { size, clock, logger, memoryBytes, metrics, jobsPerProcess = 200 } = options;
  for (const directory of [...options.readDirs, options.writeDir]) mkdirSync(directory, { recursive: true });
  const sandbox = await chooseSandbox(options);

  const entries = new Set<Entry>();
  const processes = new Set<MediaProcess>();
  const idle = new Set<MediaProcess>();
  let sequence = 0;
  let stopped = false;
  let idleTimer: NodeJS.Timeout | undefined;

  const start = (background: boolean): MediaProcess => {
    const child = startMediaProcess(sandbox.command(background), background, clock);
    processes.add(child);
    void child.closed.then(() => {
      processes.delete(child);
      if (!idle.delete(child) || stopped) return;
      metrics?.mediaProcessLost('idle');
      logger.warn({}, 'A waiting media process ended by itself');
    });
    return child;
  };

  const retire = (child: MediaProcess): Promise<void> => {
    idle.delete(child);
    return child.kill();
  };

  const isRunning = (entry: Entry): boolean => entry.state === 'running';
  const runningCount = (): number => [...entries].filter(isRunning).length;

  const isFull = (): boolean => {
    const waiting = [...entries].filter((entry) => !isRunning(entry) && entry.priority === mediaPriority.viewer);
    return waiting.length >= MAX_WAITING_VIEWERS_PER_PLACE * size;
  };

  const keepOneWarm = (): void => {
    if (stopped || runningCount() >= size || [...idle].some((child) => !child.background)) return;
    idle.add(start(false));
  };

  const whenIdle = (): void => {
    for (const child of [...idle]) if (child.jobsStarted > 0 || child.background) void retire(child);
    keepOneWarm();
  };

  /** A waiting process of the right kind, else a new one in place of a waiting one of the wrong kind. */
  const acquire = (entry: Entry): MediaProcess => {
    const background = entry.priority >= mediaPriority.background;
    const usable = [...idle].filter(
      (child) => child.alive && child.background === background && (!entry.fresh || child.jobsStarted === 0),
    );
    const child = bySpeed(usable)[0] ?? start(background);
    idle.delete(child);
    for (const surplus of bySpeed([...idle]).slice(Math.max(0, size - runningCount()))) void retire(surplus);
    return child;
  };

  const release = (child: MediaProcess, entry: Entry, outcome: Outcome): void => {
    child.resume();
    const isFit =
      outcome.type !== 'crashed' &&
      (outcome.type === 'done' || outcome.clean) &&
      outcome.rssBytes <= memoryBytes / 2 &&
      child.jobsStarted < jobsPerProcess &&
      child.busyMs < BUSY_LIMIT_MS;
    if (isFit && !entry.fresh && !stopped && child.alive) idle.add(child);
    else void retire(child);
  };

  const crash = (entry: Entry, outcome: Extract<Outcome, { type: 'crashed' }>): void => {
    const details = { kind: entry.job.kind, reason: outcome.reason };
    metrics?.mediaProcessLost(entry.job.kind);
    logger.warn({ ...details, second_try: entry.isSecondTry }, 'A media process ended before its job');
    if (outcome.overCpuLimit) {
      entries.delete(entry);
      // It would take as long again.
      const messages = [refusals.damagedBy('its index takes too much CPU time to read')];
      entry.reject(new KinoraError('invalid_input', { messages, details }));
    } else if (entry.isSecondTry) {
      entries.delete(entry);
      entry.reject(new KinoraError(outcome.beforeStart ? 'unavailable' : 'media_crashed', { details }));
    } else {
      Object.assign(entry, { isSecondTry: true, fresh: true, state: 'waiting' });
    }
  };

  const settle = (entry: Entry, outcome: Outcome): void => {
    if (outcome.type === 'crashed') {
      crash(entry, outcome);
      return;
    }
    entries.delete(entry);
    if (outcome.type === 'done') {
      entry.resolve(outcome.result);
    } else if (outcome.code === 'invalid_input') {
      entry.reject(new KinoraError('invalid_input', { messages: [outcome.message] }));
    } else {
      const details = { kind: entry.job.kind, reason: outcome.message };
      entry.reject(new KinoraError('media_failed', { details, failure: outcome.clean ? 'fail' : 'defect' }));
    }
  };

  const work = async (entry: Entry): Promise<void> => {
    const child = acquire(entry);
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

  reconcile();

  return {
    sandbox: sandbox.description,
    ...(sandbox.advice !== undefined && { sandboxAdvice: sandbox.advice }),
    run: <J extends MediaJob>(job: J, runOptions: RunOptions) => {
      const { signal } = runOptions;
      if (stopped) return Promise.reject(new KinoraError('cancelled', { cause: SHUTDOWN }));
      if (signal?.aborted) return Promise.reject(new KinoraError('cancelled', { cause: signal.reason ?? CANCELLED }));
      if (runOptions.priority === mediaPriority.viewer && isFull()) {
        return Promise.reject(new KinoraError('unavailable', { details: { reason: 'too many viewers wait' } }));
      }
      return new Promise<MediaResults[J['kind']]>((resolve, reject) => {
        const onAbort = (): void => {
          drop(entry, signal?.reason);
          reconcile();
        };
        const entry: Entry = {
          job,
          sequence: sequence++,
          deadlineMs: runOptions.deadlineMs ?? options.deadlinesMs?.[job.kind] ?? defaultDeadlineMs[job.kind],
          onProgress: runOptions.onProgress ?? (() => undefined),
          resolve: (result) => {
            signal?.removeEventListener('abort', onAbort);
            resolve(result as MediaResults[J['kind']]);
          },
          reject: (error) => {
            signal?.removeEventListener('abort', onAbort);
            reject(error);
          },
          priority: runOptions.priority,
          state: 'waiting',
          fresh: runOptions.fresh ?? false,
          isSecondTry: false,
        };
        signal?.addEventListener('abort', onAbort, { once: true });
        entries.add(entry);
        reconcile();
      });
    },
    check: async () => {
      keepOneWarm();
      await Promise.any([...processes].map(({ started }) => started));
    },
    promote: (job, priority) => {
      for (const entry of entries) if (entry.job === job && priority < entry.priority) entry.priority = priority;
      reconcile();
    },
    stop: async () => {
      stopped = true;
      clearTimeout(idleTimer);
      for (const entry of [...entries]) drop(entry, SHUTDOWN);
      await Promise.all([...processes].map((child) => child.kill()));
    },
  };
};
