import type { Row } from '../../db/schema.js';
import { findTrack, findTrackById, saveDetectedLanguage, saveTrackProgress } from '../../db/tables/assets/track.js';
import { findTrackAudio } from '../../db/tables/assets/track-media.js';
import { listPhrases } from '../../db/tables/assets/vocabulary.js';
import { findPlan } from '../../db/tables/playback/playable.js';
import { KinoraError } from '../../lib/errors.js';
import type { AudioPlan, Plan } from '../../media/plan/plan.js';
import { alternateAudioKey, concatenatedKey, sourceKey } from '../../storage/keys.js';
import type { DomainContext } from '../context.js';

/** The audio that the text of a track is made from. */
export interface TrackAudio {
  readonly audio: AudioPlan;
  /** The blob that it is read from. */
  readonly key: string;
  readonly durationMs: number;
}

/** What speech recognition reads and writes of a track. Writes after deletion or after a final status do nothing. */
export interface RecognitionState {
  /** Undefined when the track was deleted. */
  find(trackId: string): Promise<Row<'track'> | undefined>;
  /**
   * @throws KinoraError `unavailable` while the audio track is preparing, `invalid_input` when it has failed or has
   * been deleted
   */
  findAudio(assetId: string, audioTrackId: string | null): Promise<TrackAudio>;
  /** Hints from the environment's vocabularies, newest first. */
  listPhrases(assetId: string): Promise<string[]>;
  saveLanguage(trackId: string, language: string, confidence: number | undefined): Promise<void>;
  /** 0 to 1 */
  saveProgress(trackId: string, fraction: number): Promise<void>;
}

export const createRecognitionState = ({ database }: Pick<DomainContext, 'database'>): RecognitionState => {
  const db = database.queryable;
  return {
    find: (trackId) => findTrackById(db, trackId),
    findAudio: async (assetId, audioTrackId) => {
      const track = audioTrackId === null ? undefined : await findTrack(db, assetId, audioTrackId);
      if (track?.status === 'preparing')
        throw new KinoraError('unavailable', { messages: ['The audio track is not ready yet.'] });
      const plan = (await findPlan(db, assetId)) as Plan | undefined;
      const audio = track?.status === 'ready' && plan ? await audioOf(db, track, plan) : undefined;
      if (!plan || !audio) throw new KinoraError('invalid_input', { messages: ['The audio track is not available.'] });
      return { ...audio, durationMs: Math.floor(plan.durationSeconds * 1000) };
    },
    listPhrases: (assetId) => listPhrases(db, assetId),
    saveLanguage: (trackId, language, confidence) =>
      saveDetectedLanguage(db, trackId, { language, confidence: confidence ?? null }),
    saveProgress: (trackId, fraction) => saveTrackProgress(db, trackId, Math.round(fraction * 1000) / 10),
  };
};

const audioOf = async (
  db: DomainContext['database']['queryable'],
  track: Row<'track'>,
  plan: Plan,
): Promise<Pick<TrackAudio, 'audio' | 'key'> | undefined> => {
  const further = await findTrackAudio(db, track.id);
  if (further) {
    const { source_asset_id: assetId, source_track_id: trackId, joined } = further;
    return { audio: further.plan as AudioPlan, key: alternateAudioKey(assetId, trackId, joined) };
  }
  const owner = plan.sourceOwner ?? track.asset_id;
  return plan.audio && { audio: plan.audio, key: (plan.concatenated ? concatenatedKey : sourceKey)(owner) };
};
