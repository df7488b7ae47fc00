import { describe, expect, it } from 'vitest';
import { mediaPriority, type ScheduledJob, schedule } from './scheduler.js';

const { viewer, readAhead, warmUp, nextSegment, background, speech } = mediaPriority;
type Named = ScheduledJob & { name: string };
const jobs = (...list: [string, ScheduledJob['state'], ScheduledJob['priority']][]): Named[] =>
  list.map(([name, state, priority], sequence) => ({ name, state, priority, sequence }));
const plan = (slots: number, ...list: [string, ScheduledJob['state'], ScheduledJob['priority']][]): string[] =>
  schedule(jobs(...list), slots).map(({ action, job }) => `${action} ${job.name}`);

describe('schedule', () => {
  it('starts the most urgent first, then in order of arrival', () => {
    expect(plan(2, ['a', 'waiting', readAhead], ['b', 'waiting', viewer], ['c', 'waiting', viewer])).toEqual([
      'start b',
      'start c',
    ]);
  });

  it('keeps the last slot free of background work', () => {
    expect(plan(3, ['a', 'waiting', background], ['b', 'waiting', background], ['c', 'waiting', background])).toEqual([
      'start a',
      'start b',
    ]);
    expect(plan(2, ['a', 'running', warmUp], ['b', 'waiting', background])).toEqual([]);
  });

  it('gives every slot to what is needed in a moment', () => {
    expect(plan(2, ['a', 'running', warmUp], ['b', 'waiting', warmUp])).toEqual(['start b']);
    expect(plan(2, ['a', 'running', background], ['b', 'waiting', readAhead])).toEqual(['start b']);
    expect(plan(2, ['a', 'running', background], ['b', 'waiting', nextSegment])).toEqual(['start b']);
    expect(plan(1, ['a', 'running', nextSegment], ['b', 'waiting', warmUp])).toEqual(['pause a', 'start b']);
  });

  it('gives the only slot to anybody', () => {
    expect(plan(1, ['a', 'waiting', background])).toEqual(['start a']);
  });

  it('pauses the least urgent and latest job for a viewer without a slot', () => {
    expect(
      plan(
        3,
        ['a', 'running', background],
        ['b', 'running', background],
        ['c', 'running', viewer],
        ['d', 'waiting', viewer],
      ),
    ).toEqual(['pause b', 'start d']);
    expect(plan(1, ['a', 'running', readAhead], ['b', 'waiting', viewer])).toEqual(['pause a', 'start b']);
  });

  it('pauses what a player will request for read-ahead, but never equals', () => {
    expect(plan(1, ['a', 'running', nextSegment], ['b', 'waiting', readAhead])).toEqual(['pause a', 'start b']);
    expect(plan(2, ['a', 'running', viewer], ['b', 'running', viewer], ['c', 'waiting', viewer])).toEqual([]);
  });

  it('does not pause a viewer for read-ahead', () => {
    expect(plan(2, ['a', 'running', viewer], ['b', 'running', viewer], ['c', 'waiting', readAhead])).toEqual([]);
  });

  it('always runs the most urgent job of an ingest, beside the places if viewers have them all', () => {
    const viewers: [string, 'running', typeof viewer][] = [
      ['v', 'running', viewer],
      ['w', 'running', viewer],
    ];
    for (const priority of [warmUp, background]) {
      expect(plan(2, ...viewers, ['a', 'waiting', priority], ['b', 'waiting', priority])).toEqual(['start a']);
      expect(plan(2, ...viewers, ['a', 'waiting', priority], ['b', 'paused', priority])).toEqual(['resume b']);
      expect(plan(2, ...viewers, ['a', 'running', priority], ['b', 'waiting', priority])).toEqual([]);
      expect(plan(1, ['a', 'running', priority], ['v', 'waiting', viewer])).toEqual(['start v']);
      // A job beside the places keeps nobody out of them.
      expect(plan(2, ['v', 'running', viewer], ['w', 'waiting', viewer], ['a', 'running', priority])).toEqual([
        'start w',
      ]);
    }
    expect(plan(2, ...viewers, ['a', 'running', background], ['b', 'waiting', warmUp])).toEqual(['pause a', 'start b']);
    expect(plan(2, ...viewers, ['a', 'waiting', nextSegment], ['b', 'waiting', speech])).toEqual([]);
  });

  it('lets nothing run beside the places while an ingest has one', () => {
    const jobs: [string, ScheduledJob['state'], ScheduledJob['priority']][] = [
      ['v', 'running', viewer],
      ['a', 'running', warmUp],
      ['b', 'running', background],
    ];
    expect(plan(2, ...jobs)).toEqual(['pause b']);
    expect(plan(2, ['v', 'running', viewer], ['b', 'running', background], ['a', 'waiting', warmUp])).toEqual([
      'pause b',
      'start a',
    ]);
  });

  it('resumes a paused job before it starts another of the same priority', () => {
    expect(plan(2, ['a', 'waiting', background], ['b', 'paused', background])).toEqual(['resume b']);
  });

  it('lets recognition stand still while anything is made for a viewer', () => {
    for (const urgent of [viewer, readAhead]) {
      expect(plan(4, ['a', 'running', speech], ['b', 'waiting', urgent])).toEqual(['pause a', 'start b']);
      expect(plan(4, ['a', 'paused', speech], ['b', 'waiting', speech], ['c', 'running', urgent])).toEqual([]);
    }
    expect(plan(4, ['a', 'paused', speech], ['b', 'running', warmUp])).toEqual(['resume a']);
    expect(plan(4, ['a', 'paused', speech], ['b', 'waiting', speech])).toEqual(['resume a', 'start b']);
  });

  it('resumes a promoted job at once', () => {
    expect(plan(1, ['a', 'running', nextSegment], ['b', 'paused', viewer])).toEqual(['pause a', 'resume b']);
  });
});
