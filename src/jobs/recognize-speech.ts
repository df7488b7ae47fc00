import type { Row } from '../db/schema.js';
import { type CaptionsPayload, queues, type RecognitionPayload } from '../domain/queues.js';
import type { RecognitionState } from '../domain/tracks/recognition-state.js';
import type { TrackState } from '../domain/tracks/track-state.js';
import { KinoraError } from '../lib/errors.js';
import { languageCodeOf } from '../media/speech/languages.js';
import type { Job, QueueWorker } from '../queue/queue.js';
import type { Transcriber } from '../speech/transcriber.js';
import { speechPrefix, trackPrefix, trackTextKey } from '../storage/keys.js';
import { type AudioDeps, recognizeAudio } from './speech/recognize-audio.js';

/** Work for jobs of robots. An interface, because this room does not import robots. */
export interface CaptionsWork {
  run(payload: CaptionsPayload, signal: AbortSignal): Promise<void>;
  fail(payload: CaptionsPayload, error: unknown): Promise<void>;
}

export interface RecognitionDeps extends Omit<AudioDeps, 'transcriber'> {
  readonly state: RecognitionState;
  readonly tracks: Pick<TrackState, 'complete' | 'fail' | 'needsFiles'>;
  /** Undefined on a server without robots. */
  readonly captions: CaptionsWork | undefined;
  /** Absent when speech recognition is not configured. */
  readonly transcriber?: Transcriber | undefined;
}

/**
 * Makes the text of generated tracks and of the captions that robots jobs request, one at a time.
 */
export const createRecognitionWorker = (deps: RecognitionDeps): QueueWorker => ({
  queue: queues.recognizeSpeech,
  concurrency: 1,
  handler: async ({ id, payload }: Job<RecognitionPayload>, { signal }) => {
    if ('robotsJobId' in payload) {
      // Every server of the product has robots, so only a test gets here.
      if (!deps.captions) throw new KinoraError('unavailable', { messages: ['This server has no robots.'] });
      await deps.captions.run(payload, signal);
      return;
    }
    const track = await deps.state.find(payload.trackId);
    if (!track) return;
    // A killed server may have left intermediate files.
    if (track.status !== 'preparing') return deps.blobs.deletePrefix(speechPrefix(track.asset_id, track.id));
    const logger = deps.logger.child({ asset_id: track.asset_id, track_id: track.id, job_id: id });
    try {
      await recognizeTrack({ ...deps, logger }, track, signal);
    } catch (error) {
      // A track that was deleted in the meantime reports no error.
      if (await deps.state.find(track.id)) throw error;
    } finally {
      if (!(await deps.tracks.needsFiles(track.id)))
        await deps.blobs.deletePrefix(trackPrefix(track.asset_id, track.id));
    }
  },
  onFailed: async ({ id, payload }: Job<RecognitionPayload>, error) => {
    deps.logger.warn({ ...payload, job_id: id, err: error }, 'speech recognition failed');
    if ('robotsJobId' in payload) {
      await deps.captions?.fail(payload, error);
      return;
    }
    const { trackId } = payload;
    const track = await deps.state.find(trackId);
    await deps.tracks.fail(trackId, error);
    if (track) await deps.blobs.deletePrefix(speechPrefix(track.asset_id, trackId));
  },
});

const NOT_AVAILABLE = 'Speech recognition is not available.';

const recognizeTrack = async (deps: RecognitionDeps, track: Row<'track'>, signal: AbortSignal): Promise<void> => {
  const { asset_id: assetId, id: trackId } = track;
  const { blobs, state } = deps;
  if (!(await blobs.stat(trackTextKey(assetId, trackId)))) {
    const { transcriber } = deps;
    if (!transcriber) throw new KinoraError('internal_error', { messages: [NOT_AVAILABLE], failure: 'fail' });
    await recognizeAudio(
      { ...deps, transcriber },
      {
        assetId,
        trackId,
        audio: await state.findAudio(assetId, track.audio_track_id),
        // The owner may have changed the track's code to one with a region in the meantime.
        language: languageCodeOf(track.language_code ?? '') ?? 'auto',
        phrases: await state.listPhrases(assetId),
        signal,
        onProgress: (fraction) => state.saveProgress(trackId, fraction),
        onLanguage: (language, confidence) => state.saveLanguage(trackId, language ?? 'und', confidence),
      },
    );
  }
  await deps.tracks.complete(trackId);
  await blobs.deletePrefix(speechPrefix(assetId, trackId));
};
