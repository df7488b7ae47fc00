import { setTimeout as sleep } from 'node:timers/promises';
import type { SimulcastTarget } from '../../domain/live/live-states.js';
import { backoffMs } from '../../lib/backoff.js';
import type { Clock } from '../../lib/clock.js';
import type { ConnectionOpener } from '../../net/open-connection.js';
import type { Logger } from '../../telemetry/logger.js';
import { type ConnectionFailure, failureOf } from './connection-failure.js';
import { RtmpConnection } from './rtmp-connection.js';
import { readRtmpDestination } from './rtmp-destination.js';
import type { Message, SendQueue } from './send-queue.js';
import { SrtConnection } from './srt-connection.js';
import { readSrtDestination } from './srt-destination.js';
import type { TargetConnection } from './target-connection.js';

export type TargetStatus = 'starting' | 'broadcasting' | 'errored';

export interface TargetSenderDeps {
  readonly opener: ConnectionOpener;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Of this target. Not called any more when the encoder has gone. */
  readonly onStatus: (status: TargetStatus, severity?: 'normal' | 'fatal') => void;
  /** The target gets nothing more of this broadcast; `code` says why. */
  readonly onFatal: (code: string) => void;
  /** Milliseconds before the next try; from 2 to 30 s by default. */
  readonly pauseMs?: (failures: number) => number;
  /** A service that takes nothing for so long is away; 10 s by default. */
  readonly stallMs?: number;
  /** `broadcasting` is told when a service has kept the connection so long; 1 s by default. */
  readonly confirmMs?: number;
}

/** Half of it or less is random. */
const PAUSE = { baseMs: 4000, maxMs: 30_000 };
/** Without a broadcast in between. */
const MAX_REFUSALS = 6;
/** Some services accept every stream, and hang up at once when the stream key is wrong. */
const CONFIRM_MS = 1000;
/** A service that ends the stream sooner has not accepted it. */
const ACCEPTED_MS = 10_000;

/** The time in which one encoder is connected. */
interface Session {
  readonly abort: AbortController;
  readonly queue: SendQueue;
  connection?: TargetConnection;
  /** Whether frames were dropped on this connection. */
  hasDropped: boolean;
  /** Set with the first frame that is sent on this connection. */
  confirming?: NodeJS.Timeout;
}

/** Sends a broadcast to one target, and connects again when the connection is lost. */
export class TargetSender {
  readonly #deps: TargetSenderDeps;
  readonly #target: SimulcastTarget;
  readonly #logger: Logger;
  #session: Session | undefined;
  #refusals = 0;
  #isFatal = false;

  constructor(deps: TargetSenderDeps, target: SimulcastTarget) {
    this.#deps = deps;
    this.#target = target;
    this.#logger = deps.logger.child({ simulcast_target_id: target.id });
  }

  /** An encoder is connected. `queue` has what it has sent so far, and belongs to the sender. */
  begin(queue: SendQueue): void {
    if (this.#isFatal) {
      this.#deps.onStatus('errored', 'fatal');
      return;
    }
    const session: Session = { abort: new AbortController(), queue, hasDropped: false };
    this.#session = session;
    this.#deps.onStatus('starting');
    this.#run(session).catch((error: unknown) => this.#logger.error({ err: error }, 'simulcast target failed'));
  }

  /** Never waits. */
  write(message: Message): void {
    const session = this.#session;
    if (!session) return;
    const isComplete = session.queue.push(message);
    if (!isComplete && session.connection && !session.hasDropped) {
      session.hasDropped = true;
      this.#logger.warn({}, 'simulcast target is slow: frames dropped');
    }
    this.#flush(session);
  }

  /** The encoder has gone. Resolves when the connection is closed. */
  async end(): Promise<void> {
    const session = this.#session;
    if (!session) return;
    this.#session = undefined;
    const { connection, queue, abort, confirming } = session;
    clearTimeout(confirming);
    abort.abort();
    if (!connection) return;
    // At most what may wait.
    for (let frames = queue.next(); frames; frames = queue.next()) for (const each of frames) connection.send(each);
    await connection.close();
  }

  async #run(session: Session): Promise<void> {
    const { signal } = session.abort;
    for (let failures = 1; !signal.aborted; failures++) {
      const { failure, durationMs } = await this.#attempt(session);
      if (signal.aborted) return;
      if (durationMs >= ACCEPTED_MS) {
        failures = 1;
        this.#refusals = 0;
      }
      const isRefusal = failure.kind === 'refused' || (durationMs > 0 && durationMs < ACCEPTED_MS);
      if (isRefusal) this.#refusals += 1;
      const { code } = failure;
      if (failure.kind === 'forbidden' || this.#refusals >= MAX_REFUSALS) {
        this.#fail(code);
        return;
      }
      this.#logger.warn({ code, failures }, 'simulcast target not reached or lost, retrying');
      this.#deps.onStatus('errored', 'normal');
      const pause = this.#deps.pauseMs ?? ((count) => backoffMs(count, PAUSE));
      await sleep(pause(failures), undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  #fail(code: string): void {
    this.#isFatal = true;
    this.#session = undefined;
    this.#logger.error({ code }, 'simulcast target failed for this broadcast');
    this.#deps.onStatus('errored', 'fatal');
    this.#deps.onFatal(code);
  }

  /** Connects and sends until that fails. `durationMs` is 0 if the stream was not accepted. */
  async #attempt(session: Session): Promise<{ failure: ConnectionFailure; durationMs: number }> {
    const { clock } = this.#deps;
    const { signal } = session.abort;
    let connection: TargetConnection | undefined;
    try {
      connection = await this.#connect(signal);
    } catch (error) {
      return { failure: failureOf(error), durationMs: 0 };
    }
    if (!connection) return { failure: { code: 'url_not_usable', kind: 'forbidden' }, durationMs: 0 };
    if (signal.aborted) {
      await connection.close();
      return { failure: { code: 'aborted', kind: 'lost' }, durationMs: 0 };
    }
    const startMs = clock.monotonicMs();
    this.#logger.info({}, 'simulcast target connected');
    connection.onDrain = () => this.#flush(session);
    session.connection = connection;
    session.hasDropped = false;
    this.#flush(session);
    const failure = await connection.lost;
    clearTimeout(session.confirming);
    delete session.confirming;
    delete session.connection;
    session.queue.restart();
    return { failure, durationMs: Math.max(1, clock.monotonicMs() - startMs) };
  }

  /** Undefined for a URL that can't be used. */
  async #connect(signal: AbortSignal): Promise<TargetConnection | undefined> {
    const { opener, clock, stallMs } = this.#deps;
    const { url, streamKey } = this.#target;
    if (/^srt:/i.test(url)) {
      const destination = readSrtDestination(url, streamKey);
      return destination && SrtConnection.open(opener, destination, signal, { clock, stallMs });
    }
    const destination = readRtmpDestination(url, streamKey);
    return destination && RtmpConnection.open(opener, destination, signal, stallMs);
  }

  #flush(session: Session): void {
    const { connection, queue } = session;
    while (connection && !connection.isBlocked) {
      const frames = queue.next();
      if (!frames) return;
      for (const each of frames) connection.send(each);
      const { confirmMs = CONFIRM_MS, onStatus } = this.#deps;
      session.confirming ??= setTimeout(() => onStatus('broadcasting'), confirmMs);
    }
  }
}
