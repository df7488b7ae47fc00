import type { Queryable, Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { findAssetById, lockAssetForUpdate } from '../../db/tables/assets/asset.js';
import { findIngest, saveInputFile } from '../../db/tables/assets/asset-ingest.js';
import {
  findTrackById,
  listTracks,
  saveTrackValidator,
  setPrimary,
  updatePreparingTrack,
} from '../../db/tables/assets/track.js';
import {
  areTrackFilesNeeded,
  countTrackCrash,
  openTrackMedia,
  saveTrackFacts,
  saveTrackPlan,
} from '../../db/tables/assets/track-media.js';
import { findPlan } from '../../db/tables/playback/playable.js';
import { isKinoraError, KinoraError } from '../../lib/errors.js';
import type { ClipSource } from '../../media/plan/clip.js';
import type { AudioPlan, Plan } from '../../media/plan/plan.js';
import type { SourceFacts } from '../../media/source/source-facts.js';
import type { DomainContext } from '../context.js';
import { COPIED_POSITION } from './copied-position.js';
import { recordTrackEvent } from './record-track-event.js';

/** What a ready alternate audio track shows, and how it is cut. */
export interface ReadyAudio {
  readonly durationSeconds: number;
  readonly maxChannels: number;
  readonly maxChannelLayout: string;
  readonly plan: AudioPlan;
  /** It is read from the copy with joined recordings. */
  readonly concatenated: boolean;
  /** The asset has no audio of its own: the first track that becomes ready is played. */
  readonly isSilentAsset: boolean;
}

/** What is known about the file of a track. */
export interface TrackMedia {
  /**
   * The asset and track under which the file and its index are stored. For a stream of the main
   * file of an asset, both are the ID of that asset.
   */
  readonly sourceAssetId: string;
  readonly sourceTrackId: string;
  readonly facts?: SourceFacts;
  /** Present when a clip has the track from its source asset. */
  readonly copied?: {
    readonly clip: ClipSource;
    /** For audio: the time in the file, in seconds, that is zero on that asset's timeline. */
    readonly zeroSeconds: number;
  };
  /** The asset's `normalize_audio` applies to the tracks of its creation request. */
  readonly normalize: boolean;
}

type Change = Parameters<typeof updatePreparingTrack>[2];

/**
 * What the ingest of tracks reads and writes. Writes after deletion or after a final status do
 * nothing. While the asset is preparing, no events are recorded: `announceSideCars` does so when it
 * is ready.
 */
export class TrackState {
  readonly #context: DomainContext;
  readonly #db: Queryable;

  constructor(context: DomainContext) {
    this.#context = context;
    this.#db = context.database.queryable;
  }

  /** Undefined when the track was deleted. */
  find(trackId: string): Promise<Row<'track'> | undefined> {
    return findTrackById(this.#db, trackId);
  }

  /** The unfinished tracks of an asset's additional inputs. */
  async listPreparing(assetId: string): Promise<Row<'track'>[]> {
    const tracks = await listTracks(this.#db, [assetId]);
    return tracks.filter(({ status, input_position }) => status === 'preparing' && input_position !== null);
  }

  /** The unfinished text tracks that are streams of the asset's file, or captions in its video. */
  async listEmbeddedText(assetId: string): Promise<Row<'track'>[]> {
    const tracks = await listTracks(this.#db, [assetId]);
    return tracks.filter(
      ({ type, status, stream_index, caption_channel }) =>
        type === 'text' && status === 'preparing' && (stream_index !== null || caption_channel !== null),
    );
  }

  /** Undefined while the asset has none. */
  async findPlan(assetId: string): Promise<Plan | undefined> {
    return (await findPlan(this.#db, assetId)) as Plan | undefined;
  }

  /** The version of the remote file that is being downloaded. */
  saveValidator(trackId: string, validator: string | undefined): Promise<void> {
    return saveTrackValidator(this.#db, trackId, validator ?? null);
  }

  /** Undefined when the track was deleted. */
  findMedia(track: Row<'track'>): Promise<TrackMedia | undefined> {
    return this.#context.database.transaction(async (tx) => {
      const asset = await findAssetById(tx, track.asset_id);
      const media = asset && (await openTrackMedia(tx, track));
      return (
        media && {
          sourceAssetId: media.source_asset_id,
          sourceTrackId: media.source_track_id,
          facts: (media.facts as SourceFacts | null) ?? undefined,
          copied:
            track.input_position === COPIED_POSITION
              ? { clip: await findClip(tx, track.asset_id), zeroSeconds: media.zero_seconds ?? 0 }
              : undefined,
          normalize: asset.normalize_audio && (track.input_position !== null || track.stream_index !== null),
        }
      );
    });
  }

  saveFacts(trackId: string, facts: SourceFacts): Promise<void> {
    return saveTrackFacts(this.#db, trackId, facts);
  }

  /** Counts a media process crash on the file of a track and returns the new total. */
  countCrash(trackId: string): Promise<number> {
    return countTrackCrash(this.#db, trackId);
  }

  /** True while the track exists, and afterwards while a clip plays its file. */
  needsFiles(trackId: string): Promise<boolean> {
    return areTrackFilesNeeded(this.#db, trackId);
  }

  /**
   * What `input-info` shows for the track's input; does nothing for a track that was added later.
   */
  async saveInputFile({ asset_id, input_position }: Row<'track'>, file: object): Promise<void> {
    if (input_position !== null) await saveInputFile(this.#db, asset_id, file, input_position);
  }

  /** False when the track has been deleted in the meantime. */
  complete(trackId: string, audio?: ReadyAudio): Promise<boolean> {
    const change = audio && {
      duration_seconds: audio.durationSeconds,
      max_channels: audio.maxChannels,
      max_channel_layout: audio.maxChannelLayout,
    };
    return this.#finish(trackId, 'ready', change ?? {}, audio);
  }

  /** Final failure; an event tells receivers why. */
  async fail(trackId: string, error: unknown): Promise<void> {
    await this.#finish(trackId, 'errored', { error: JSON.stringify(trackError(error)) });
  }

  async #finish(trackId: string, status: 'ready' | 'errored', change: Change, audio?: ReadyAudio): Promise<boolean> {
    const context = this.#context;
    const track = await context.database.transaction(async (tx) => {
      const before = await findTrackById(tx, trackId);
      const owner = before && (await findAssetById(tx, before.asset_id));
      // All transactions that change both take the locks in this order. Of two tracks that end at
      // the same time, the second sees the result of the first.
      const asset = owner && (await lockAssetForUpdate(tx, owner.environment_id, owner.id));
      const changed = asset && (await updatePreparingTrack(tx, trackId, { ...change, status }));
      if (!changed) return undefined;
      const shown = audio ? await publishAudio(tx, changed, audio) : changed;
      if (asset.status === 'ready') {
        await recordTrackEvent(context, tx, asset.environment_id, status, shown);
        await context.assetHook?.onChanged(context, tx, asset.id);
      }
      return changed;
    });
    if (track) context.onPlayableChanged(track.asset_id);
    return track !== undefined;
  }
}

/**
 * Stores how the audio is cut; in an asset without audio, the first track that becomes ready is the
 * primary one.
 */
const publishAudio = async (
  tx: Transaction,
  track: Row<'track'>,
  { plan, concatenated, isSilentAsset }: ReadyAudio,
): Promise<Row<'track'>> => {
  await saveTrackPlan(tx, track.id, plan, concatenated);
  if (!isSilentAsset) return track;
  if ((await listTracks(tx, [track.asset_id])).some(({ type, is_primary }) => type === 'audio' && is_primary))
    return track;
  return setPrimary(tx, track.id);
};

/** @throws when the asset is not a clip */
const findClip = async (tx: Transaction, assetId: string): Promise<ClipSource> => {
  const ingest = await findIngest(tx, assetId);
  if (!ingest?.media.clip) throw new KinoraError('internal_error', { details: { stage: 'copied track', assetId } });
  return ingest.media.clip as ClipSource;
};

/** The `error` object of a track. The messages are part of the API contract. */
const trackError = (error: unknown): { type: string; messages: readonly string[] } => {
  const isInput = isKinoraError(error, 'invalid_input') || isKinoraError(error, 'source_unreachable');
  if (isInput) return { type: 'invalid_input', messages: error.messages };
  if (isKinoraError(error, 'speech_failed')) return { type: 'internal_error', messages: error.messages };
  // An internal failure with a message was written for the caller.
  if (isKinoraError(error, 'internal_error') && error.failure === 'fail')
    return { type: 'internal_error', messages: error.messages };
  return { type: 'internal_error', messages: ['The track could not be processed.'] };
};
