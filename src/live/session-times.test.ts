import { expect, it } from 'vitest';
import { SessionTimes } from './session-times.js';

const at = (seconds: number): Date => new Date(seconds * 1000);
const durations = (times: SessionTimes): (number | undefined)[] => times.all.map(({ duration }) => duration);

it('has the duration of each session', () => {
  const times = new SessionTimes();
  times.begin('content', at(0), 0);
  times.end(61.23456);
  times.begin('content', at(100), 61.3);
  times.end(71.3);
  expect(times.all).toEqual([
    { started_at: '1970-01-01T00:00:00.000Z', duration: 61.235, type: 'content' },
    { started_at: '1970-01-01T00:01:40.000Z', duration: 10, type: 'content' },
  ]);
});

it('completes a session that was interrupted, from what is recorded', () => {
  const times = new SessionTimes([
    { started_at: '2026-01-01T10:00:00.000Z', duration: 20, type: 'content' },
    { started_at: '2026-01-01T10:05:00.000Z', type: 'content' },
  ]);
  times.endInterrupted(50);
  expect(durations(times)).toEqual([20, 30]);
  expect(times.totalSeconds).toBe(50);
});

it('does not grow without end, and loses no second', () => {
  const times = new SessionTimes();
  for (let session = 0; session < 5000; session++) {
    times.begin('content', at(session), session);
    times.end(session + 1);
  }
  expect(times.all).toHaveLength(1000);
  expect(times.totalSeconds).toBe(5000);
});

it('tells slates, and leaves one at the end out of the content', () => {
  const times = new SessionTimes();
  times.begin('content', at(0), 0);
  times.end(6);
  times.begin('slate', at(6), 6);
  times.end(10);
  expect(times.content.map(({ type }) => type)).toEqual(['content']);
  expect(times.totalSeconds).toBe(6);
  // After a restart of the server, it goes on.
  times.begin('slate', at(12), 10);
  times.end(15);
  expect(durations(times)).toEqual([6, 9]);
  times.begin('content', at(15), 15);
  times.end(16);
  expect(times.content).toEqual(times.all);
});

it('takes the start of an interrupted session from its first frame, and leaves others as they are', () => {
  const saved = [{ started_at: at(0).toISOString(), type: 'content' as const }];
  const interrupted = new SessionTimes(saved);
  interrupted.endInterrupted(6, at(2).getTime());
  expect(interrupted.all).toEqual([{ started_at: at(2).toISOString(), type: 'content', duration: 6 }]);
  const again = new SessionTimes(interrupted.all);
  again.endInterrupted(6, at(3).getTime());
  expect(again.all).toEqual(interrupted.all);
});
