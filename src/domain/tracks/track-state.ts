import type { Row } from '../../db/schema.js';
import { findAssetById } from '../../db/tables/asset.js';
import { saveInputFile } from '../../db/tables/asset-ingest.js';
import { findPlan } from '../../db/tables/playable.js';
import { findTrackById, listTracks, saveTrackValidator, updatePreparingTrack } from '../../db/tables/track.js';
import { saveTrackPlan } from '../../db/tables/track-media.js';
import { isKinoraError } from '../../lib/errors.js';
import type { AudioPlan, Plan } from '../../media/plan.js';
import type { DomainContext } from '../context.js';
import { recordTrackEvent } from './record-track-event.js';

/** What a further audio track shows when it is ready, and how it is cut. */
export interface ReadyAudio {
  readonly durationSeconds: number;
  readonly maxChannels: number;
  readonly maxChannelLayout: string;
  readonly plan: AudioPlan;
}

/**
 * What the ingest of tracks reads and writes. Writes after deletion or after a final status do nothing. Of an asset that is
 * still preparing nothing is told: `announceSideCars` does that when it is ready.
 */
export interface TrackState {
  /** Undefined when the track was deleted. */
  find(trackId: string): Promise<Row<'track'> | undefined>;
  /** Those that the further inputs of an asset bring and that are not finished. */
  listPreparing(assetId: string): Promise<Row<'track'>[]>;
  /** Undefined while the asset has none. */
  findPlan(assetId: string): Promise<Plan | undefined>;
  /** Which version of the remote file the download has begun. */
  saveValidator(trackId: string, validator: string | undefined): Promise<void>;
  /** What `input-info` shows of the input that brought the track; nothing happens for one that was added later. */
  saveInputFile(track: Row<'track'>, file: object): Promise<void>;
  /** False when the track was deleted meanwhile. */
  complete(trackId: string, audio?: ReadyAudio): Promise<boolean>;
  /** Final failure: receivers of webhooks hear why. */
  fail(trackId: string, error: unknown): Promise<void>;
}

type Change = Parameters<typeof updatePreparingTrack>[2];

export const createTrackState = (context: DomainContext): TrackState => {
  const db = context.database.queryable;

  const finish = async (
    trackId: string,
    status: 'ready' | 'errored',
    change: Change,
    audio?: ReadyAudio,
  ): Promise<boolean> => {
    const track = await context.database.transaction(async (tx) => {
      const changed = await updatePreparingTrack(tx, trackId, { ...change, status });
      if (!changed) return undefined;
      if (audio) await saveTrackPlan(tx, trackId, audio.plan);
      const asset = await findAssetById(tx, changed.asset_id);
      if (asset?.status === 'ready') await recordTrackEvent(context, tx, asset.environment_id, status, changed);
      return changed;
    });
    if (track) context.onTracksChanged(track.asset_id);
    return track !== undefined;
  };

  return {
    find: (trackId) => findTrackById(db, trackId),
    listPreparing: async (assetId) =>
      (await listTracks(db, [assetId])).filter(
        ({ status, input_position }) => status === 'preparing' && input_position !== null,
      ),
    findPlan: async (assetId) => (await findPlan(db, assetId)) as Plan | undefined,
    saveValidator: (trackId, validator) => saveTrackValidator(db, trackId, validator ?? null),
    saveInputFile: async ({ asset_id, input_position }, file) => {
      if (input_position !== null) await saveInputFile(db, asset_id, file, input_position);
    },
    complete: (trackId, audio) =>
      finish(
        trackId,
        'ready',
        audio
          ? {
              duration_seconds: audio.durationSeconds,
              max_channels: audio.maxChannels,
              max_channel_layout: audio.maxChannelLayout,
            }
          : {},
        audio,
      ),
    fail: async (trackId, error) => {
      await finish(trackId, 'errored', { error: JSON.stringify(trackError(error)) });
    },
  };
};

/** The `error` object of a track; texts are part of the wire contract. */
const trackError = (error: unknown): { type: string; messages: readonly string[] } => {
  const isInput = isKinoraError(error, 'invalid_input') || isKinoraError(error, 'source_unreachable');
  if (isInput) return { type: 'invalid_input', messages: error.messages };
  // An internal failure that says what is the matter was written for the caller.
  if (isKinoraError(error, 'internal_error') && error.failure === 'fail')
    return { type: 'internal_error', messages: error.messages };
  return { type: 'internal_error', messages: ['The track could not be processed.'] };
};
