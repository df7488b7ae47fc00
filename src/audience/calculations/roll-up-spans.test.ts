import { expect, it } from 'vitest';
import { rollUpSpans } from './roll-up-spans.js';

const at = (text: string): number => Date.parse(`2026-11-${text}:00Z`);
const shown = (from: string, before: string, unit: 'hour' | 'day' = 'day'): string[] =>
  rollUpSpans(at(from), at(before), unit).map(
    (span) => `${span.period} ${new Date(span.from).toISOString()} ${new Date(span.before).toISOString()}`,
  );
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
