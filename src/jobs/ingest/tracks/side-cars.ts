import { setTimeout as delay } from 'node:timers/promises';
import type { Row } from '../../../db/schema.js';
import { isKinoraError, KinoraError } from '../../../lib/errors.js';
import { failureFields } from '../../../lib/failure-fields.js';
import { createLinkedAbort } from '../../../lib/linked-abort.js';
import type { Plan } from '../../../media/plan/plan.js';
import { trackPrefix } from '../../../storage/keys.js';
import { ingestTrack } from './ingest-track.js';
import type { TrackIngestDeps } from './track-source.js';

/** Work on the tracks of the creation request, in parallel with the ingest of the main input. */
export interface SideCars {
  /** Provides the plan that tracks are cut to. */
  planned(plan: Plan): void;
  /** Waits a moment for tracks that are nearly done and stops the rest, which continue when the asset is ready. */
  settle(): Promise<void>;
  /** Stops everything. */
  stop(): Promise<void>;
}

/** Tracks that are processed concurrently. */
const LANES = 4;
/** The longest time by which waiting for tracks may delay the asset. */
const GRACE_MS = 2000;

export const startSideCars = (deps: TrackIngestDeps & { readonly signal: AbortSignal }, assetId: string): SideCars => {
  const ending = createLinkedAbort(deps.signal);
  const anyEnd = ending.signal;
  let tellPlan: (plan: Plan) => void = () => undefined;
  const plan = new Promise<Plan>((resolve, reject) => {
    tellPlan = resolve;
    anyEnd.addEventListener('abort', () => reject(new KinoraError('cancelled', { cause: anyEnd.reason })));
  });
  // There may be no caller that handles the rejection.
  plan.catch(() => undefined);

  const work = async (track: Row<'track'>): Promise<void> => {
    try {
      await ingestTrack({ ...deps, track, plan: () => plan, signal: anyEnd });
    } catch (error) {
      if (anyEnd.aborted) return;
      deps.logger.warn({ track_id: track.id, ...failureFields(error) }, 'track of creation request failed');
      // The owner of the file should be told now. Anything else is retried when the asset is ready.
      const isFinal = isKinoraError(error, 'invalid_input') || isKinoraError(error, 'source_unreachable');
      if (!isFinal) return;
      await deps.state.fail(track.id, error);
      await deps.blobs.discardUnfinished(trackPrefix(assetId, track.id));
    }
  };
  const workAll = async (): Promise<void> => {
    const tracks = await deps.state.listPreparing(assetId);
    const lane = async (): Promise<void> => {
      for (let next = tracks.shift(); next && !anyEnd.aborted; next = tracks.shift()) await work(next);
    };
    await Promise.all(Array.from({ length: LANES }, lane));
  };
  const done = workAll().catch((error: unknown) => {
    // This does not fail the asset: the tracks are still preparing, and their own jobs follow.
    deps.logger.warn({ err: error }, 'tracks of creation request failed');
  });

  const stop = async (): Promise<void> => {
    ending[Symbol.dispose]();
    await done;
  };
  return {
    planned: (known) => tellPlan(known),
    settle: async () => {
      const over = new AbortController();
      const grace = delay(GRACE_MS, undefined, { signal: over.signal }).catch(() => undefined);
      await Promise.race([done, grace]);
      over.abort();
      await stop();
    },
    stop,
  };
};
