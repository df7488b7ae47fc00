import type { FastifyReply } from 'fastify';
import type { Session, Sessions } from '../../domain/access/sessions.js';
import { newShortId } from '../../lib/ids.js';
import type { Logger } from '../../telemetry/logger.js';

/** Changes that a stream which was interrupted can still get. */
const KEPT_CHANGES = 1000;
/** Each is a connection; a browser opens at most six to one host. */
const MAX_STREAMS = 500;
/** Tabs of one browser, also over HTTP/2, and those that it closed a moment ago. */
const MAX_STREAMS_OF_SESSION = 24;
/** Proxies close connections that are silent for a minute. */
const HEARTBEAT_MS = 15_000;

/** What browsers are told: they fetch what they display again. */
export interface Announcement {
  /** Empty for what belongs to the server: only administrators get it. */
  readonly environmentId: string;
  /** The name of the event in the stream. */
  readonly event: string;
  readonly data: object;
}

type Connection = Pick<FastifyReply['raw'], 'write' | 'writableNeedDrain' | 'on' | 'once' | 'end' | 'closed'>;

interface Stream {
  readonly connection: Connection;
  readonly session: Session;
  /** The reader is slow: what it misses is replaced by `reset`. */
  isLagging: boolean;
}

interface KeptChange {
  readonly number: number;
  readonly announcement: Announcement;
}

/**
 * Sends every change to the browsers that may see it. A browser that does not read fast enough gets
 * nothing until it has read what was written, and is then told that it missed something: nothing is
 * kept for it.
 */
export class ChangeStreams {
  readonly #sessions: Pick<Sessions, 'listLive'>;
  readonly #logger: Logger;
  readonly #streams = new Set<Stream>();
  readonly #recent: KeptChange[] = [];
  /** IDs of another run of the server are unknown to this one. */
  readonly #run = newShortId();
  #last = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(sessions: Pick<Sessions, 'listLive'>, logger: Logger) {
    this.#sessions = sessions;
    this.#logger = logger;
  }

  /** False when there are too many, of all sessions or of this one. */
  hasRoom({ key }: Session): boolean {
    const own = [...this.#streams].filter(({ session }) => session.key === key);
    return this.#streams.size < MAX_STREAMS && own.length < MAX_STREAMS_OF_SESSION;
  }

  /** `lastEventId` is what a reconnecting browser sends. */
  add(connection: Connection, session: Session, lastEventId: string | undefined): void {
    const stream: Stream = { connection, session, isLagging: false };
    this.#streams.add(stream);
    this.#timer ??= setInterval(() => {
      this.beat().catch((error: unknown) => this.#logger.warn({ err: error }, 'sessions of streams not checked'));
    }, HEARTBEAT_MS).unref();
    connection.once('close', () => this.#remove(stream));
    connection.on('drain', () => {
      if (stream.isLagging) this.#sendReset(stream);
      stream.isLagging = false;
    });
    // The ID of now, so that a browser which reconnects before the first change misses nothing.
    connection.write(`retry: 2000\n${this.#idOf(this.#last)}event: open\ndata: {"type":"open"}\n\n`);
    const missed = lastEventId === undefined ? [] : this.#missedSince(lastEventId);
    if (!missed) this.#sendReset(stream);
    for (const { number, announcement } of missed ?? [])
      if (isFor(stream, announcement)) send(stream, this.#textOf(number, announcement));
  }

  announce(announcement: Announcement): void {
    this.#last += 1;
    this.#recent.push({ number: this.#last, announcement });
    if (this.#recent.length > KEPT_CHANGES) this.#recent.shift();
    const text = this.#textOf(this.#last, announcement);
    for (const stream of this.#streams) if (isFor(stream, announcement)) send(stream, text);
  }

  /**
   * Says that changes were missed which nobody knows, to those that are connected and to those that
   * come back.
   */
  reset(): void {
    this.#last += 1;
    this.#recent.length = 0;
    for (const stream of this.#streams) {
      if (stream.connection.writableNeedDrain) stream.isLagging = true;
      else this.#sendReset(stream);
    }
  }

  /**
   * Sends a heartbeat and ends the streams of sessions that have ended: one query for all of them.
   */
  async beat(): Promise<void> {
    for (const stream of this.#streams) send(stream, ': heartbeat\n\n');
    this.announce({ environmentId: '', event: 'operations', data: { type: 'updated' } });
    const keys = new Set([...this.#streams].map(({ session }) => session.key));
    const live = await this.#sessions.listLive([...keys]);
    for (const { connection, session } of this.#streams) if (!live.has(session.key)) connection.end();
  }

  /** Ends the streams of a session; its browser connects again if the session still exists. */
  closeSession(key: string): void {
    for (const { connection, session } of this.#streams) if (session.key === key) connection.end();
  }

  stop(): void {
    clearInterval(this.#timer);
    for (const { connection } of this.#streams) connection.end();
  }

  #remove(stream: Stream): void {
    this.#streams.delete(stream);
    if (this.#streams.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** What a stream missed; undefined when that is not known any more. */
  #missedSince(lastEventId: string): readonly KeptChange[] | undefined {
    const [, ofRun, digits] = /^(\w+)-(\d{1,15})$/.exec(lastEventId) ?? [];
    const number = Number(digits);
    if (ofRun !== this.#run || number > this.#last || number < this.#last - this.#recent.length) return undefined;
    return this.#recent.filter((change) => change.number > number);
  }

  #sendReset({ connection }: Stream): void {
    connection.write(`${this.#idOf(this.#last)}event: reset\ndata: {"type":"reset"}\n\n`);
  }

  #textOf(number: number, { event, data }: Announcement): string {
    return `${this.#idOf(number)}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
  }

  #idOf(number: number): string {
    return `id: ${this.#run}-${number}\n`;
  }
}

const isFor = ({ session }: Stream, { environmentId }: Announcement): boolean =>
  environmentId === '' ? session.canAdminister : environmentId === session.caller.environment.id;

const send = (stream: Stream, text: string): void => {
  if (stream.connection.writableNeedDrain) stream.isLagging = true;
  else stream.connection.write(text);
};
