import { expect, it } from 'vitest';
import { periodEnd, periodStart } from './budget-period.js';

it.each([
  ['day', '2028-02-28T23:59:59.999Z', '2028-02-28', '2028-02-29'],
  ['day', '2026-12-31T00:00:00.000Z', '2026-12-31', '2027-01-01'],
  ['month', '2028-02-29T12:00:00.000Z', '2028-02-01', '2028-03-01'],
  ['month', '2026-12-31T23:59:59.999Z', '2026-12-01', '2027-01-01'],
  ['month', '2026-12-01T00:00:00.000Z', '2026-12-01', '2027-01-01'],
] as const)('a %s of %s', (period, time, start, end) => {
  expect(periodStart(period, new Date(time)).toISOString()).toBe(`${start}T00:00:00.000Z`);
  expect(periodEnd(period, new Date(time)).toISOString()).toBe(`${end}T00:00:00.000Z`);
});
