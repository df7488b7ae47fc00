import { createLinkedAbort, type LinkedAbort } from '../../lib/linked-abort.js';
import { goesOn } from '../../media/plan/growing-plan.js';
import type { Plan } from '../../media/plan/plan.js';
import { mediaPriority } from '../../pool/media-pool.js';
import type { IngestContext } from './context.js';
import type { EarlyPlay } from './play-early.js';

export type EarlyPlan = Pick<EarlyPlay, 'plan' | 'withdraw'>;

/** The segments that a player requests first. They are started while the source is still being checked. */
export interface FirstSegments {
  /** Starts making the segments of a plan that may not be used. */
  begin(plan: Plan): void;
  /** Removes what was made by another plan. */
  keepOnly(plan: Plan): Promise<void>;
  /** Waits for the segments of `plan`, which are made unless they have been started. */
  make(plan: Plan): Promise<void>;
  /** Ends what has been started. */
  stop(): Promise<void>;
  /** Does so and removes what was made; `reason` says why the asset can't play on, if it plays early. */
  discard(reason: string): Promise<void>;
}

const OTHER_PLAN = 'the stored file has another plan';

/** `early` is what plays already. Without it, the files in the cache are those of an earlier process. */
export const createFirstSegments = (
  { assetId, producer, segments, signal }: Pick<IngestContext, 'assetId' | 'producer' | 'segments' | 'signal'>,
  early: EarlyPlan | undefined,
): FirstSegments => {
  let started: { readonly plan: Plan; readonly made: Promise<void>; readonly end: LinkedAbort } | undefined;

  const warm = (plan: Plan, until: AbortSignal): Promise<void> =>
    producer.warm({ id: assetId, plan }, { signal: until, priority: mediaPriority.warmUp });
  const remove = async (reason: string): Promise<void> => {
    const playing = early;
    early = undefined;
    await playing?.withdraw(reason);
    await segments.removeAsset(assetId);
  };
  const stop = async (): Promise<void> => {
    started?.end[Symbol.dispose]();
    await started?.made.catch(() => undefined);
    started = undefined;
  };
  const discard = async (reason: string): Promise<void> => {
    await stop();
    await remove(reason);
  };
  const removeAndWarm = async (plan: Plan, until: AbortSignal): Promise<void> => {
    if (!early || !goesOn(early.plan, plan)) await remove(OTHER_PLAN);
    await warm(plan, until);
  };
  return {
    begin: (plan) => {
      const end = createLinkedAbort(signal);
      started = { plan, made: removeAndWarm(plan, end.signal), end };
      // Unless it is waited for, its failure means nothing: the plan may be the wrong one.
      started.made.catch(() => undefined);
    },
    keepOnly: async (plan) => {
      const made = started ?? early;
      if (!made || !goesOn(made.plan, plan)) await discard(OTHER_PLAN);
    },
    make: (plan) => started?.made ?? warm(plan, signal),
    stop,
    discard,
  };
};
