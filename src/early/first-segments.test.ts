import { describe, expect, test, vi } from 'vitest';
import { liveRendition } from '../cache/cache-key.js';
import type { Plan } from '../media/plan/plan.js';
import { type EarlyPlan, FirstSegments } from './first-segments.js';

const planOf = (durationSeconds: number): Plan => ({ durationSeconds }) as Plan;

const setUp = (early?: Plan) => {
  const calls: string[] = [];
  const signals: AbortSignal[] = [];
  const withdraw = vi.fn<EarlyPlan['withdraw']>(async () => void calls.push('withdraw'));
  const first = new FirstSegments(
    {
      assetId: 'a',
      signal: new AbortController().signal,
      cache: {
        removeRenditions: async (isUnwanted) => {
          calls.push('remove');
          expect([isUnwanted('a', '270p'), isUnwanted('a', liveRendition('270p')), isUnwanted('b', '270p')]).toEqual([
            true,
            false,
            false,
          ]);
        },
      },
      producer: {
        warm: async ({ plan }: { plan: Plan }, { signal }: { signal: AbortSignal }) => {
          calls.push(`warm ${plan.durationSeconds}`);
          signals.push(signal);
        },
      } as never,
    },
    early && { plan: early, withdraw },
  );
  return { first, calls, signals };
};

describe('segments that were started before the plan was certain', () => {
  test('are used when the plan stays, and those of an earlier process are removed', async () => {
    const { first, calls, signals } = setUp();
    first.start(planOf(1));
    await first.keepOnly(planOf(1));
    await first.make(planOf(1));
    expect(calls).toEqual(['remove', 'warm 1']);
    expect(signals[0]!.aborted).toBe(false);
  });

  test('are removed when another plan is used', async () => {
    const { first, calls, signals } = setUp();
    first.start(planOf(1));
    await first.keepOnly(planOf(2));
    await first.make(planOf(2));
    expect(calls).toEqual(['remove', 'warm 1', 'remove', 'warm 2']);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
  });

  test('are added to those that played early by the same plan', async () => {
    const { first, calls } = setUp(planOf(1));
    first.start(planOf(1));
    await first.keepOnly(planOf(1));
    await first.make(planOf(1));
    expect(calls).toEqual(['warm 1']);
  });

  test('replace those that played early by another plan', async () => {
    const { first, calls } = setUp(planOf(1));
    first.start(planOf(2));
    await first.keepOnly(planOf(2));
    await first.make(planOf(2));
    expect(calls).toEqual(['withdraw', 'remove', 'warm 2']);
  });

  test('end when the source is refused', async () => {
    const { first, signals } = setUp();
    first.start(planOf(1));
    await first.stop();
    expect(signals[0]!.aborted).toBe(true);
  });

  test('can be started again, when the source is read again', async () => {
    const { first, calls, signals } = setUp();
    first.start(planOf(1));
    await first.stop();
    first.start(planOf(1));
    await first.keepOnly(planOf(1));
    await first.make(planOf(1));
    expect(calls).toEqual(['remove', 'warm 1', 'remove', 'warm 1']);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
  });
});

test('a plan that was not likely before is compared with what played early', async () => {
  const { first, calls } = setUp(planOf(1));
  await first.keepOnly(planOf(1));
  expect(calls).toEqual([]);
  await first.keepOnly(planOf(2));
  expect(calls).toEqual(['withdraw', 'remove']);
});
