import type { KinoraError } from '../lib/errors.js';
import { defaultDeadlineMs } from './deadlines.js';
import { type MediaPriority, mediaPriority, type RunOptions } from './media-pool.js';
import type { MediaProcess } from './media-process.js';
import type { MediaJob, MediaResults } from './protocol.js';

type Result = MediaResults[MediaJob['kind']];

/** A job that has not ended. */
export interface PoolEntry {
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

/** Beside viewers, background work gets a tenth of a processor. */
const BACKGROUND_FACTOR = 10;

const deadlineOf = ({ kind }: MediaJob, priority: MediaPriority): number =>
  defaultDeadlineMs[kind] * (priority >= mediaPriority.background ? BACKGROUND_FACTOR : 1);

/** An entry that waits for a process, and what its caller waits for. */
export const createPoolEntry = <J extends MediaJob>(
  job: J,
  sequence: number,
  { priority, deadlineMs = deadlineOf(job, priority), fresh = false, onProgress = () => undefined }: RunOptions,
): { entry: PoolEntry; result: Promise<MediaResults[J['kind']]> } => {
  let settle: Pick<PoolEntry, 'resolve' | 'reject'>;
  const result = new Promise<MediaResults[J['kind']]>((resolve, reject) => {
    settle = { resolve: (value) => resolve(value as MediaResults[J['kind']]), reject };
  });
  const entry: PoolEntry = {
    ...{ job, sequence, deadlineMs, onProgress, priority, fresh },
    ...settle!,
    state: 'waiting',
    isSecondTry: false,
  };
  return { entry, result };
};
