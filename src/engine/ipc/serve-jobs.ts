import { Socket } from 'node:net';
import type { ByteRanges } from '../../lib/byte-ranges.js';
import { isKinoraError } from '../../lib/errors.js';
import { createLineReader } from '../../lib/line-reader.js';
import { isNoSpace } from '../../lib/no-space.js';
import type {
  FedInput,
  FedJobs,
  FedKind,
  FedOutput,
  FromChild,
  LastInput,
  MediaJob,
  MediaResults,
  ToChild,
} from '../../pool/protocol.js';
import { Inbox } from './inbox.js';

// Tests call handlers with a context of their own.
export interface HandlerContext {
  /** 0 to 1; may be called during synchronous work. */
  progress(fraction: number): void;
}

/** The context of a job that is fed while it runs. */
export interface FedContext<K extends FedKind> extends HandlerContext {
  readonly inputs: AsyncIterable<FedJobs[K]['input'] | LastInput>;
  output(output: FedJobs[K]['output']): void;
}

/** One function for each kind of job. */
export type MediaHandlers = {
  readonly [K in MediaJob['kind']]: (
    job: Extract<MediaJob, { kind: K }>,
    context: K extends FedKind ? FedContext<K> : HandlerContext,
  ) => Promise<MediaResults[K]> | MediaResults[K];
};

const PROGRESS_INTERVAL_MS = 250;

/**
 * After refusing an input, the process can take more work; after running out of memory, it can't.
 */
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
    ...(isNoSpace(error) && { code: 'no_space' }),
    ...(isKinoraError(error, 'invalid_input') && { code: 'invalid_input' }),
    ...(isKinoraError(error, 'range_missing') && {
      code: 'range_missing',
      missing: error.details?.missing as ByteRanges,
    }),
  };
};

/** The file descriptor of the channel to the parent. */
const CHANNEL = 3;
const MESSAGE_LIMIT_CHARACTERS = 64 * 2 ** 20;

/**
 * Answers jobs, one JSON message per line, until the channel closes because the parent has exited.
 */
export const serveJobs = (handlers: MediaHandlers): Promise<void> => {
  const channel = new Socket({ fd: CHANNEL });
  const send = (message: FromChild): void => {
    channel.write(`${JSON.stringify(message)}\n`);
  };
  let inbox = new Inbox<FedInput>();
  const serve = async (id: number, job: MediaJob): Promise<void> => {
    inbox = new Inbox();
    let reportedMs = -Infinity;
    const progress = (fraction: number): void => {
      const nowMs = performance.now();
      if (nowMs - reportedMs < PROGRESS_INTERVAL_MS) return;
      reportedMs = nowMs;
      send({ type: 'progress', id, fraction });
    };
    try {
      // The compiler can't relate the kind of the job to the parameter of its handler.
      const handler = handlers[job.kind] as (job: MediaJob, context: object) => unknown;
      const output = (each: FedOutput): void => send({ type: 'output', id, output: each });
      const result = (await handler(job, { progress, inputs: inbox, output })) as MediaResults[MediaJob['kind']];
      send({ type: 'done', id, result, rssBytes: process.memoryUsage.rss() });
    } catch (error) {
      send(failure(id, error));
    }
  };
  const onMessage = (line: string): void => {
    const message = JSON.parse(line) as ToChild;
    if (message.type === 'run') void serve(message.id, message.job);
    else inbox.push(message.input);
  };
  return new Promise((resolve) => {
    channel.setEncoding('utf8').on('data', createLineReader(MESSAGE_LIMIT_CHARACTERS, onMessage, resolve));
    channel.once('end', resolve).once('error', resolve);
    send({ type: 'ready' });
  });
};
