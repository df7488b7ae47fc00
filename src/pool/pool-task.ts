import { cancelled } from '../lib/abort.js';
import { KinoraError } from '../lib/errors.js';
import { noSpaceError } from '../lib/no-space.js';
import { rejections } from '../media/source/rejections.js';
import { defaultDeadlineMs } from './job-limits.js';
import type { MediaProcess, Outcome } from './media-process.js';
import type { MediaJob, MediaResults } from './protocol.js';
import { type MediaPriority, mediaPriority } from './scheduler.js';

export interface TaskOptions {
  readonly priority: MediaPriority;
  /**
   * Wall-clock limit from the start of the job, without the time it is paused; the default depends
   * on the kind and the priority.
   */
  readonly deadlineMs?: number | undefined;
  /**
   * Use a separate process that has never seen another source and is not reused, for probing and
   * for second tries.
   */
  readonly fresh?: boolean | undefined;
  /**
   * The process of a fresh job waits for the next fresh job on the same file, which it takes. It
   * always does when parts of the file are missing: they are fetched for the next try.
   */
  readonly isContinued?: boolean | undefined;
  /** 0 to 1 */
  readonly onProgress?: ((fraction: number) => void) | undefined;
}

const SAMPLES_PER_FRAME = 1024;

type Result = MediaResults[MediaJob['kind']];

/** A job that has not ended, and the promise its caller waits for. */
export class PoolTask {
  priority: MediaPriority;
  state: 'waiting' | 'running' | 'paused' = 'waiting';
  fresh: boolean;
  isSecondTry = false;
  readonly isContinued: boolean;
  /** While the job runs. */
  process: MediaProcess | undefined;
  readonly deadlineMs: number;
  readonly onProgress: (fraction: number) => void;
  readonly result: Promise<Result>;
  private resolve!: (result: Result) => void;
  private reject!: (error: KinoraError) => void;

  constructor(
    readonly job: MediaJob,
    /** Order of arrival. */
    readonly sequence: number,
    {
      priority,
      deadlineMs = defaultDeadlineMs(job, priority),
      fresh = false,
      isContinued = false,
      onProgress,
    }: TaskOptions,
  ) {
    this.priority = priority;
    this.deadlineMs = deadlineMs;
    this.fresh = fresh;
    this.isContinued = isContinued;
    this.onProgress = onProgress ?? (() => undefined);
    this.result = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  /** Puts the task back into the queue, for a new process of its own. */
  retry(): void {
    this.isSecondTry = true;
    this.fresh = true;
    this.state = 'waiting';
  }

  settle(outcome: Outcome): void {
    if (outcome.type === 'done') this.resolve(outcome.result);
    else this.reject(failureOf(this.job, outcome));
  }

  cancel(cause: unknown): void {
    this.reject(cancelled(undefined, cause));
  }

  /**
   * The file that a fresh process belongs to; undefined for a second try, which is alone, and for
   * processes of lower priority.
   */
  get ownFile(): string | undefined {
    if (!this.fresh || this.isSecondTry || this.priority >= mediaPriority.background) return undefined;
    if (!('source' in this.job)) return undefined;
    const { path, staged } = this.job.source;
    return `${staged?.version ?? ''} ${path}`;
  }

  /** The duration of the job's output, for kinds whose speed decides whether viewers wait. */
  get media(): { readonly kind: 'encode' | 'copy' | 'audio'; readonly seconds: number } | undefined {
    const { job } = this;
    if (job.kind === 'video-segment') {
      return { kind: job.rendition.kind, seconds: (job.endTicks - job.startTicks) / job.timeBase.den };
    }
    if (job.kind === 'audio-chunk') {
      const frames = job.boundaries.at(-1)! - job.boundaries[0]!;
      return { kind: 'audio', seconds: (frames * SAMPLES_PER_FRAME) / job.audio.sampleRate };
    }
    return undefined;
  }
}

/** The error for the caller of a job that did not succeed. */
const failureOf = ({ kind }: MediaJob, outcome: Exclude<Outcome, { type: 'done' }>): KinoraError => {
  if (outcome.type === 'crashed') {
    const details = { kind, reason: outcome.reason };
    // It would take as long again.
    if (outcome.overCpuLimit)
      return new KinoraError('invalid_input', {
        messages: [rejections.damagedBy('its index takes too much CPU time to read')],
        details,
      });
    return new KinoraError(outcome.beforeStart ? 'unavailable' : 'media_crashed', { details });
  }
  if (outcome.code === 'range_missing')
    return new KinoraError('range_missing', { details: { kind, missing: outcome.missing } });
  if (outcome.code === 'invalid_input') return new KinoraError('invalid_input', { messages: [outcome.message] });
  const details = { kind, reason: outcome.message };
  if (outcome.code === 'no_space') {
    const cause = Object.assign(new Error(outcome.message), { code: 'ENOSPC' });
    return noSpaceError(cause, { kind });
  }
  return new KinoraError('media_failed', { details, failure: outcome.clean ? 'fail' : 'defect' });
};
