import { isKinoraError } from '../lib/errors.js';
import type { FromChild, MediaJob, MediaResults, ToChild } from '../pool/protocol.js';

export interface HandlerContext {
  /** 0 to 1; may be called from inside synchronous work. */
  progress(fraction: number): void;
}

/** What a media process can do, a function per kind of job. */
export type MediaHandlers = {
  readonly [K in MediaJob['kind']]: (
    job: Extract<MediaJob, { kind: K }>,
    context: HandlerContext,
  ) => Promise<MediaResults[K]> | MediaResults[K];
};

const PROGRESS_INTERVAL_MS = 250;

/** Refusals of the input leave the process fit for more work; running out of memory does not. */
const isClean = (error: Error): boolean =>
  (isKinoraError(error) || error.name === 'FFmpegError') && !/cannot allocate memory/i.test(error.message);

const failure = (id: number, thrown: unknown): FromChild => {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const clean = isClean(error);
  return {
    type: 'failed',
    id,
    message: clean ? error.message : (error.stack ?? error.message),
    clean,
    rssBytes: process.memoryUsage.rss(),
    ...(isKinoraError(error, 'invalid_input') ? { code: 'invalid_input' as const } : {}),
  };
};

/** Answers jobs from the parent until the channel closes. */
export const serveJobs = (handlers: MediaHandlers): void => {
  const send = (message: FromChild): void => {
    // The parent is gone when this fails; the `disconnect` event ends the process.
    process.send?.(message, () => undefined);
  };
  const run = async (id: number, job: MediaJob): Promise<void> => {
    let reportedMs = -Infinity;
    const progress = (fraction: number): void => {
      const nowMs = performance.now();
      if (nowMs - reportedMs < PROGRESS_INTERVAL_MS) return;
      reportedMs = nowMs;
      send({ type: 'progress', id, fraction });
    };
    try {
      // The compiler can't tie the kind of the job to the parameter of its handler.
      const handler = handlers[job.kind] as (job: MediaJob, context: HandlerContext) => unknown;
      const result = (await handler(job, { progress })) as MediaResults[MediaJob['kind']];
      send({ type: 'done', id, result, rssBytes: process.memoryUsage.rss() });
    } catch (error) {
      send(failure(id, error));
    }
  };
  process.on('message', (message: ToChild) => void run(message.id, message.job));
  send({ type: 'ready' });
};
