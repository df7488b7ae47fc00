// Answers who may watch: who already plays, from segments made before the plan was certain.

import { isLiveRendition } from '../cache/cache-key.js';
import type { SegmentStore } from '../cache/segment-store.js';
import { createLinkedAbort, type LinkedAbort } from '../lib/linked-abort.js';
import { isPrefixOf } from '../media/plan/growing-plan.js';
import type { Plan } from '../media/plan/plan.js';
import type { SegmentProducer } from '../packager/segment-producer.js';
import { mediaPriority } from '../pool/media-pool.js';

/** What plays already. */
export interface EarlyPlan {
  readonly plan: Plan;
  /** Stops early playback and removes what was produced. */
  readonly withdraw: (reason: string) => Promise<void>;
}

interface FirstSegmentsContext {
  readonly assetId: string;
  readonly producer: Pick<SegmentProducer, 'warm'>;
  readonly cache: Pick<SegmentStore, 'removeRenditions'>;
  readonly signal: AbortSignal;
}

const OTHER_PLAN = 'the stored file has another plan';

/**
 * The segments that a player requests first. They are started while the source is still being
 * checked.
 */
export class FirstSegments {
  private started: { readonly plan: Plan; readonly finished: Promise<void>; readonly end: LinkedAbort } | undefined;

  /**
   * `early` is what plays already. Without it, the files in the cache are those of an earlier
   * process.
   */
  constructor(
    private readonly context: FirstSegmentsContext,
    private early: EarlyPlan | undefined,
  ) {}

  /** Starts making the segments of a plan that may not be used. */
  start(plan: Plan): void {
    const end = createLinkedAbort(this.context.signal);
    this.started = { plan, finished: this.removeAndWarm(plan, end.signal), end };
    // Unless it is waited for, its failure means nothing: the plan may be the wrong one.
    this.started.finished.catch(() => undefined);
  }

  /** Removes what was made by another plan. */
  async keepOnly(plan: Plan): Promise<void> {
    const current = this.started ?? this.early;
    if (!current || !isPrefixOf(current.plan, plan)) await this.discard(OTHER_PLAN);
  }

  /** Waits for the segments of `plan`, which are made unless they have been started. */
  make(plan: Plan): Promise<void> {
    return this.started?.finished ?? this.warm(plan, this.context.signal);
  }

  /** Ends what has been started. */
  async stop(): Promise<void> {
    this.started?.end[Symbol.dispose]();
    await this.started?.finished.catch(() => undefined);
    this.started = undefined;
  }

  /**
   * Ends what was started and removes what was made; `reason` says why the asset can't play on, if
   * it plays early.
   */
  async discard(reason: string): Promise<void> {
    await this.stop();
    await this.remove(reason);
  }

  private async removeAndWarm(plan: Plan, signal: AbortSignal): Promise<void> {
    if (!this.early || !isPrefixOf(this.early.plan, plan)) await this.remove(OTHER_PLAN);
    await this.warm(plan, signal);
  }

  private async remove(reason: string): Promise<void> {
    const playing = this.early;
    this.early = undefined;
    await playing?.withdraw(reason);
    const { assetId, cache } = this.context;
    // Viewers of the broadcast that has just ended still wait for its rungs.
    await cache.removeRenditions((id, rendition) => id === assetId && !isLiveRendition(rendition));
  }

  private warm(plan: Plan, signal: AbortSignal): Promise<void> {
    const { assetId: id, producer } = this.context;
    return producer.warm({ id, plan }, { signal, priority: mediaPriority.warmUp });
  }
}
