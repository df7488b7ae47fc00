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
  isBehind: boolean;
}

export interface ChangeStreams {
  announce(announcement: Announcement): void;
  /** Says that changes were missed which nobody knows, to those that are connected and to those that come back. */
  reset(): void;
  /** False when there are too many, of all sessions or of this one. */
  hasRoom(session: Session): boolean;
  /** `lastEventId` is what a reconnecting browser sends. */
  add(connection: Connection, session: Session, lastEventId: string | undefined): void;
  /** Ends the streams of a session; its browser connects again if the session still exists. */
  closeSession(key: string): void;
  /** Sends a heartbeat and ends the streams of sessions that have ended: one query for all of them. */
  beat(): Promise<void>;
  stop(): void;
}

/**
 * Sends every change to the browsers that may see it. A browser that does not read fast enough gets nothing until it has
 * read what was written, and is then told that it missed something: nothing is kept for it.
 */
export const createChangeStreams = (sessions: Pick<Sessions, 'listLive'>, logger: Logger): ChangeStreams => {
  const streams = new Set<Stream>();
  const kept: { readonly number: number; readonly announcement: Announcement }[] = [];
  /** IDs of another run of the server are unknown to this one. */
  const run = newShortId();
  let last = 0;
  let beating: NodeJS.Timeout | undefined;

  const isFor = ({ session }: Stream, { environmentId }: Announcement): boolean =>
    environmentId === '' ? session.canAdminister : environmentId === session.caller.environment.id;
  const idOf = (number: number): string => `id: ${run}-${number}\n`;
  const textOf = (number: number, { event, data }: Announcement): string =>
    `${idOf(number)}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
  const sendReset = ({ connection }: Stream): void =>
    void connection.write(`${idOf(last)}event: reset\ndata: {"type":"reset"}\n\n`);

  const send = (stream: Stream, text: string): void => {
    if (stream.connection.writableNeedDrain) stream.isBehind = true;
    else stream.connection.write(text);
  };

  /** What a stream missed; undefined when that is not known any more. */
  const missedSince = (lastEventId: string): readonly (typeof kept)[number][] | undefined => {
    const [, ofRun, number] = /^(\w+)-(\d{1,15})$/.exec(lastEventId) ?? [];
    if (ofRun !== run || Number(number) > last || Number(number) < last - kept.length) return undefined;
    return kept.filter((entry) => entry.number > Number(number));
  };

  const beat = async (): Promise<void> => {
    for (const stream of streams) send(stream, ': heartbeat\n\n');
    announce({ environmentId: '', event: 'operations', data: { type: 'updated' } });
    const live = await sessions.listLive([...new Set([...streams].map(({ session }) => session.key))]);
    for (const { connection, session } of streams) if (!live.has(session.key)) connection.end();
  };

  const announce = (announcement: Announcement): void => {
    last += 1;
    kept.push({ number: last, announcement });
    if (kept.length > KEPT_CHANGES) kept.shift();
    const text = textOf(last, announcement);
    for (const stream of streams) if (isFor(stream, announcement)) send(stream, text);
  };

  const reset = (): void => {
    last += 1;
    kept.length = 0;
    for (const stream of streams) {
      if (stream.connection.writableNeedDrain) stream.isBehind = true;
      else sendReset(stream);
    }
  };

  return {
    announce,
    reset,
    hasRoom: ({ key }) => {
      const own = [...streams].filter(({ session }) => session.key === key);
      return streams.size < MAX_STREAMS && own.length < MAX_STREAMS_OF_SESSION;
    },
    add: (connection, session, lastEventId) => {
      const stream: Stream = { connection, session, isBehind: false };
      streams.add(stream);
      beating ??= setInterval(() => {
        beat().catch((error: unknown) => logger.warn({ err: error }, 'sessions of streams not checked'));
      }, HEARTBEAT_MS).unref();
      connection.once('close', () => {
        streams.delete(stream);
        if (streams.size > 0) return;
        clearInterval(beating);
        beating = undefined;
      });
      connection.on('drain', () => {
        if (stream.isBehind) sendReset(stream);
        stream.isBehind = false;
      });
      // The ID of now, so that a browser which reconnects before the first change misses nothing.
      connection.write(`retry: 2000\n${idOf(last)}event: open\ndata: {"type":"open"}\n\n`);
      const missed = lastEventId === undefined ? [] : missedSince(lastEventId);
      if (!missed) sendReset(stream);
      for (const { number, announcement } of missed ?? [])
        if (isFor(stream, announcement)) send(stream, textOf(number, announcement));
    },
    closeSession: (key) => {
      for (const { connection, session } of streams) if (session.key === key) connection.end();
    },
    beat,
    stop: () => {
      clearInterval(beating);
      for (const { connection } of streams) connection.end();
    },
  };
};
