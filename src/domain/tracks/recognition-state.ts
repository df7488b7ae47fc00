import type { Queryable } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { findTrack, findTrackById, saveDetectedLanguage, saveTrackProgress } from '../../db/tables/assets/track.js';
import { findTrackAudio } from '../../db/tables/assets/track-media.js';
import { listPhrases } from '../../db/tables/assets/vocabulary.js';
import { findPlan } from '../../db/tables/playback/playable.js';
import { KinoraError } from '../../lib/errors.js';
import type { AudioPlan, Plan } from '../../media/plan/plan.js';
import { alternateAudioKey, concatenatedKey, sourceKey } from '../../storage/keys.js';

/** The audio that the text of a track is made from. */
export interface TrackAudio {
  readonly audio: AudioPlan;
  /** The blob that it is read from. */
  readonly key: string;
  readonly durationMs: number;
}

/**
 * What speech recognition reads and writes of a track. Writes after deletion or after a final
 * status do nothing.
 */
export class RecognitionState {
  readonly #db: Queryable;

  constructor(db: Queryable) {
    this.#db = db;
  }

  /** Undefined when the track was deleted. */
  find(trackId: string): Promise<Row<'track'> | undefined> {
    return findTrackById(this.#db, trackId);
  }

  /**
   * @throws KinoraError `unavailable` while the audio track is preparing, `invalid_input` when it
   * has failed or has been deleted
   */
  async findAudio(assetId: string, audioTrackId: string | null): Promise<TrackAudio> {
    const track = audioTrackId === null ? undefined : await findTrack(this.#db, assetId, audioTrackId);
    if (track?.status === 'preparing')
      throw new KinoraError('unavailable', { messages: ['The audio track is not ready yet.'] });
    const plan = (await findPlan(this.#db, assetId)) as Plan | undefined;
    const audio = track?.status === 'ready' && plan ? await audioOf(this.#db, track, plan) : undefined;
    if (!plan || !audio) throw new KinoraError('invalid_input', { messages: ['The audio track is not available.'] });
    return { ...audio, durationMs: Math.floor(plan.durationSeconds * 1000) };
  }

  /** Hints from the environment's vocabularies, newest first. */
  listPhrases(assetId: string): Promise<string[]> {
    return listPhrases(this.#db, assetId);
  }

  saveLanguage(trackId: string, language: string, confidence: number | undefined): Promise<void> {
    return saveDetectedLanguage(this.#db, trackId, { language, confidence: confidence ?? null });
  }

  /** `fraction` is 0 to 1. */
  saveProgress(trackId: string, fraction: number): Promise<void> {
    return saveTrackProgress(this.#db, trackId, Math.round(fraction * 1000) / 10);
  }
}

const audioOf = async (
  db: Queryable,
  track: Row<'track'>,
  plan: Plan,
): Promise<Pick<TrackAudio, 'audio' | 'key'> | undefined> => {
  const alternate = await findTrackAudio(db, track.id);
  if (alternate) {
    const { source_asset_id: assetId, source_track_id: trackId, joined } = alternate;
    return { audio: alternate.plan as AudioPlan, key: alternateAudioKey(assetId, trackId, joined) };
  }
  const owner = plan.sourceOwner ?? track.asset_id;
  return plan.audio && { audio: plan.audio, key: (plan.concatenated ? concatenatedKey : sourceKey)(owner) };
};
