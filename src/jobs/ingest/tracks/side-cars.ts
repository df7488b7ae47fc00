import { setTimeout as delay } from 'node:timers/promises';
import type { Row } from '../../../db/schema.js';
import { cancelled } from '../../../lib/abort.js';
import { isKinoraError } from '../../../lib/errors.js';
import { failureFields } from '../../../lib/failure-fields.js';
import { createLinkedAbort, type LinkedAbort } from '../../../lib/linked-abort.js';
import type { Plan } from '../../../media/plan/plan.js';
import { trackPrefix } from '../../../storage/keys.js';
import { ingestTrack } from './ingest-track.js';
import type { TrackIngestDeps } from './track-source.js';

interface SideCarDeps extends TrackIngestDeps {
  readonly signal: AbortSignal;
}

/** Tracks that are processed concurrently. */
const CONCURRENCY = 4;
/** The longest time by which waiting for tracks may delay the asset. */
const GRACE_MS = 2000;

/** Work on the tracks of the creation request, in parallel with the ingest of the main input. */
export class SideCars {
  private readonly ending: LinkedAbort;
  private readonly plan: Promise<Plan>;
  private tellPlan: (plan: Plan) => void = () => undefined;
  private done: Promise<void> = Promise.resolve();

  private constructor(
    private readonly deps: SideCarDeps,
    private readonly assetId: string,
  ) {
    this.ending = createLinkedAbort(deps.signal);
    const { signal } = this.ending;
    this.plan = new Promise<Plan>((resolve, reject) => {
      this.tellPlan = resolve;
      signal.addEventListener('abort', () => reject(cancelled(signal)));
    });
    // There may be no caller that handles the rejection.
    this.plan.catch(() => undefined);
  }

  static start(deps: SideCarDeps, assetId: string): SideCars {
    const sideCars = new SideCars(deps, assetId);
    sideCars.done = sideCars.ingestAll().catch((error: unknown) => {
      // This does not fail the asset: the tracks are still preparing, and their own jobs follow.
      deps.logger.warn({ err: error }, 'tracks of creation request failed');
    });
    return sideCars;
  }

  /** Provides the plan that tracks are cut to. */
  planned(plan: Plan): void {
    this.tellPlan(plan);
  }

  /**
   * Waits a moment for tracks that are nearly done and stops the rest, which continue when the
   * asset is ready.
   */
  async stopSoon(): Promise<void> {
    const over = new AbortController();
    const grace = delay(GRACE_MS, undefined, { signal: over.signal }).catch(() => undefined);
    await Promise.race([this.done, grace]);
    over.abort();
    await this.stop();
  }

  /** Stops everything. */
  async stop(): Promise<void> {
    this.ending[Symbol.dispose]();
    await this.done;
  }

  private async ingestAll(): Promise<void> {
    const tracks = await this.deps.state.listPreparing(this.assetId);
    const ingestInTurn = async (): Promise<void> => {
      for (let next = tracks.shift(); next && !this.ending.signal.aborted; next = tracks.shift())
        await this.ingest(next);
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, ingestInTurn));
  }

  private async ingest(track: Row<'track'>): Promise<void> {
    const { state, blobs, logger } = this.deps;
    const { signal } = this.ending;
    try {
      await ingestTrack({ ...this.deps, track, plan: () => this.plan, signal });
    } catch (error) {
      if (signal.aborted) return;
      logger.warn({ track_id: track.id, ...failureFields(error) }, 'track of creation request failed');
      // The owner of the file should be told now. Anything else is retried when the asset is ready.
      const isFinal = isKinoraError(error, 'invalid_input') || isKinoraError(error, 'source_unreachable');
      if (!isFinal) return;
      await state.fail(track.id, error);
      await blobs.discardUnfinished(trackPrefix(this.assetId, track.id));
    }
  }
}
