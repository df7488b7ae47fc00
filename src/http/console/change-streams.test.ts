import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { Session } from '../../domain/access/sessions.js';
import type { Logger } from '../../telemetry/logger.js';
import { ChangeStreams } from './change-streams.js';

const silent = { warn: () => undefined } as unknown as Logger;

/** A connection whose reader stops and continues as the test says. */
const connect = () => {
  const connection = Object.assign(new EventEmitter(), {
    written: [] as string[],
    writableNeedDrain: false,
    closed: false,
    write: (text: string) => {
      connection.written.push(text);
      return !connection.writableNeedDrain;
    },
    end: () => {
      connection.closed = true;
      connection.emit('close');
    },
    /** Names of the events that arrived since the last call. */
    take: () => {
      const text = connection.written.splice(0).join('');
      return [...text.matchAll(/^event: (\w+)$/gm)].map(([, name]) => name);
    },
    lastId: '',
  });
  return connection;
};

const sessionOf = (key: string, environmentId: string, canAdminister = false): Session =>
  ({ key, canAdminister, caller: { environment: { id: environmentId } } }) as Session;

const start = () => {
  const live = new Set<string>();
  const queries: (readonly string[])[] = [];
  const sessions = {
    listLive: async (keys: readonly string[]) => {
      queries.push(keys);
      return live;
    },
  };
  const streams = new ChangeStreams(sessions, silent);
  const open = (session: Session, lastEventId?: string) => {
    const connection = connect();
    streams.add(connection as never, session, lastEventId);
    return connection;
  };
  const change = (environmentId: string, event = 'asset') =>
    streams.announce({ environmentId, event, data: { type: 'updated', id: 'x' } });
  return { streams, live, queries, open, change };
};

describe('streams of changes', () => {
  it('get what belongs to their environment, and administrators also what belongs to the server', () => {
    const { streams, open, change } = start();
    const [one, other] = [open(sessionOf('1', 'one', true)), open(sessionOf('2', 'other'))];
    change('one');
    change('other', 'upload');
    change('', 'job');
    expect(one.take()).toEqual(['open', 'asset', 'job']);
    expect(other.take()).toEqual(['open', 'upload']);
    streams.stop();
  });

  it('have room for other sessions when one has as many as it may', () => {
    const { streams, open } = start();
    const greedy = sessionOf('1', 'one');
    const opened: ReturnType<typeof open>[] = [];
    while (streams.hasRoom(greedy) && opened.length < 500) opened.push(open(greedy));
    expect(opened).toHaveLength(24);
    expect(streams.hasRoom(sessionOf('2', 'one'))).toBe(true);
    opened[0]!.end();
    expect(streams.hasRoom(greedy)).toBe(true);
    for (let key = 2; streams.hasRoom(sessionOf(`${key}`, 'one')); key++) opened.push(open(sessionOf(`${key}`, 'one')));
    expect(opened).toHaveLength(501);
    streams.stop();
  });

  it('keep nothing for a slow reader, which is told once that it missed something', () => {
    const { streams, open, change } = start();
    const slow = open(sessionOf('1', 'one'));
    slow.take();
    slow.writableNeedDrain = true;
    for (let i = 0; i < 100_000; i++) change('one');
    expect(slow.written).toEqual([]);
    slow.writableNeedDrain = false;
    slow.emit('drain');
    slow.emit('drain');
    expect(slow.take()).toEqual(['reset']);
    change('one');
    expect(slow.take()).toEqual(['asset']);
    streams.stop();
  });

  it('continue after an interruption, or say that they can not', () => {
    const { streams, open, change } = start();
    const first = open(sessionOf('1', 'one'));
    change('one');
    const id = [...first.written.join('').matchAll(/^id: (.+)$/gm)].at(-1)![1]!;
    change('other');
    change('one', 'upload');
    expect(open(sessionOf('1', 'one'), id).take()).toEqual(['open', 'upload']);
    for (const unknown of ['', 'x', `other-1`, `${id}0000`, id.replace(/\d+$/, '-1')])
      expect(open(sessionOf('1', 'one'), unknown).take(), unknown).toEqual(['open', 'reset']);
    for (let i = 0; i < 1001; i++) change('other');
    expect(open(sessionOf('1', 'one'), id).take()).toEqual(['open', 'reset']);
    streams.stop();
  });

  it('are told when changes were missed, also those that come back later', () => {
    const { streams, open, change } = start();
    const [fast, slow] = [open(sessionOf('1', 'one')), open(sessionOf('1', 'one'))];
    change('one');
    const id = [...fast.written.join('').matchAll(/^id: (.+)$/gm)].at(-1)![1]!;
    for (const tab of [fast, slow]) tab.take();
    slow.writableNeedDrain = true;
    streams.reset();
    expect([fast.take(), slow.take()]).toEqual([['reset'], []]);
    slow.writableNeedDrain = false;
    slow.emit('drain');
    expect(slow.take()).toEqual(['reset']);
    expect(open(sessionOf('1', 'one'), id).take()).toEqual(['open', 'reset']);
    streams.stop();
  });

  it('end with their session, which one query finds out for all of them', async () => {
    const { streams, live, queries, open } = start();
    const tabs = [open(sessionOf('ended', 'one')), open(sessionOf('ended', 'one')), open(sessionOf('live', 'one'))];
    live.add('live');
    await streams.beat();
    expect(tabs.map(({ closed }) => closed)).toEqual([true, true, false]);
    expect(queries).toEqual([['ended', 'live']]);
    streams.closeSession('live');
    expect(tabs[2]!.closed).toBe(true);
  });
});
