import { expect, it } from 'vitest';
import { type RollUpPeriod, rollUpSpans } from './roll-up-spans.js';

const at = (text: string): number => Date.parse(`2026-11-${text}:00Z`);
const spans = (fromMs: number, beforeMs: number, longest: RollUpPeriod = 'month'): string[] =>
  rollUpSpans(fromMs, beforeMs, longest).map(
    (span) => `${span.period} ${new Date(span.from).toISOString()} ${new Date(span.before).toISOString()}`,
  );
const shown = (from: string, before: string, longest?: RollUpPeriod): string[] => spans(at(from), at(before), longest);
const hours = (from: string, before: string) => `hour 2026-11-${from}:00.000Z 2026-11-${before}:00.000Z`;
const days = (from: string, before: string) => `day 2026-11-${from}T00:00:00.000Z 2026-11-${before}T00:00:00.000Z`;

it('takes days where they are whole, and hours around them', () => {
  expect(shown('03T22:17', '07T01:30')).toEqual([
    hours('03T22:00', '04T00:00'),
    days('04', '07'),
    hours('07T00:00', '07T02:00'),
  ]);
  expect(shown('03T00:00', '05T00:00')).toEqual([days('03', '05')]);
});

it('takes only hours within a day or two, and when they are asked for', () => {
  expect(shown('03T22:17', '04T23:00')).toEqual([hours('03T22:00', '04T23:00')]);
  expect(shown('03T00:00', '05T00:00', 'hour')).toEqual([hours('03T00:00', '05T00:00')]);
  expect(shown('03T00:00', '03T00:00')).toEqual([]);
});

it('takes months where they are whole, and days and hours around them', () => {
  const between = (from: string, before: string, longest?: RollUpPeriod) =>
    spans(Date.parse(from), Date.parse(before), longest);
  expect(between('2026-01-30T22:10:00Z', '2026-04-02T01:00:00Z')).toEqual([
    'hour 2026-01-30T22:00:00.000Z 2026-01-31T00:00:00.000Z',
    'day 2026-01-31T00:00:00.000Z 2026-02-01T00:00:00.000Z',
    'month 2026-02-01T00:00:00.000Z 2026-04-01T00:00:00.000Z',
    'day 2026-04-01T00:00:00.000Z 2026-04-02T00:00:00.000Z',
    'hour 2026-04-02T00:00:00.000Z 2026-04-02T01:00:00.000Z',
  ]);
  expect(between('2025-12-01T00:00:00Z', '2026-01-01T00:00:00Z')).toEqual([
    'month 2025-12-01T00:00:00.000Z 2026-01-01T00:00:00.000Z',
  ]);
  expect(between('2025-12-01T00:00:00Z', '2026-01-01T00:00:00Z', 'day')).toEqual([
    'day 2025-12-01T00:00:00.000Z 2026-01-01T00:00:00.000Z',
  ]);
  expect(between('2026-02-01T01:00:00Z', '2026-02-28T23:00:00Z')).toEqual([
    'hour 2026-02-01T01:00:00.000Z 2026-02-02T00:00:00.000Z',
    'day 2026-02-02T00:00:00.000Z 2026-02-28T00:00:00.000Z',
    'hour 2026-02-28T00:00:00.000Z 2026-02-28T23:00:00.000Z',
  ]);
});
