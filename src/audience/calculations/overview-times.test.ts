import { expect, it } from 'vitest';
import { overviewTimes } from './overview-times.js';

const at = (text: string): Date => new Date(`2026-11-${text}:00Z`);
const timesOf = (from: string, before: string): string[] => {
  const { unit, previousMs, fromMs, beforeMs } = overviewTimes(at(from), at(before), at('29T10:20'));
  return [unit, ...[previousMs, fromMs, beforeMs].map((ms) => new Date(ms).toISOString().slice(8, 16))];
};

it('covers whole hours of up to three days', () => {
  expect(timesOf('28T10:20', '29T10:20')).toEqual(['hour', '27T09:00', '28T10:00', '29T11:00']);
  expect(timesOf('26T10:20', '29T10:20')).toEqual(['hour', '23T09:00', '26T10:00', '29T11:00']);
});

it('covers days of a longer time, and as much of today as of the time before', () => {
  expect(timesOf('23T10:20', '29T10:20')).toEqual(['day', '16T13:00', '23T00:00', '29T11:00']);
});

it('covers whole days where hours are not kept', () => {
  expect(timesOf('08T10:20', '29T10:20')).toEqual(['day', '17T00:00', '08T00:00', '29T11:00']);
  expect(timesOf('02T10:20', '02T12:20')).toEqual(['day', '01T00:00', '02T00:00', '03T00:00']);
});
