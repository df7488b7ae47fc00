import type { CaptionsPayload } from '../../domain/queues.js';
import type { RecognitionState } from '../../domain/tracks/recognition-state.js';
import type { TrackState } from '../../domain/tracks/track-state.js';
import { type AudioDeps, recognizeAudio } from '../../jobs/speech/recognize-audio.js';
import { languageCodeOf } from '../../media/speech/languages.js';
import { robotsStepKey, speechPrefix, trackPrefix } from '../../storage/keys.js';
import type { WorkflowParams } from '../api/workflows.js';
import type { RobotsJobState } from '../jobs/job-state.js';

/**
 * The step of a robots job that records what was recognized. When it exists, so do the words and the text of the
 * job's track.
 */
export const SPEECH_STEP = 'speech';

/** The content of the step; the language is present only if it was detected. */
export interface RecognizedSpeech {
  readonly language?: string;
  readonly confidence?: number;
}

interface CaptionsDeps extends AudioDeps {
  readonly state: Pick<RecognitionState, 'findAudio' | 'listPhrases'>;
  readonly tracks: Pick<TrackState, 'needsFiles'>;
  readonly robots: Pick<RobotsJobState, 'findWanted' | 'wake'>;
}

/** Recognizes speech for a robots job and lets it continue; does nothing for a job that has ended. */
export const recognizeCaptions = async (
  deps: CaptionsDeps,
  { robotsJobId: jobId, audioTrackId }: CaptionsPayload,
  signal: AbortSignal,
): Promise<void> => {
  const { blobs, robots, state } = deps;
  const job = await robots.findWanted(jobId);
  if (!job) return;
  const { asset_id: assetId, new_track_id: trackId } = job;
  const { language_code: code, phrases = [] } = job.parameters as WorkflowParams<'generate-premium-captions'>;
  const done = robotsStepKey(assetId, jobId, SPEECH_STEP);
  let speech: RecognizedSpeech = {};
  try {
    if (!(await blobs.stat(done))) {
      await recognizeAudio(
        { ...deps, logger: deps.logger.child({ asset_id: assetId, robots_job_id: jobId }) },
        {
          assetId,
          trackId,
          audio: await state.findAudio(assetId, audioTrackId),
          language: (code === undefined ? undefined : languageCodeOf(code)) ?? 'auto',
          phrases: [...phrases, ...(await state.listPhrases(assetId))],
          signal,
          onProgress: async () => undefined,
          onLanguage: async (language, confidence) => {
            speech = { language, confidence };
          },
        },
      );
      await blobs.put(done, Buffer.from(JSON.stringify(speech)));
    }
    await blobs.deletePrefix(speechPrefix(assetId, trackId));
    await robots.wake(jobId);
  } catch (error) {
    // Cancelled or deleted with its asset: the reason for the failure does not matter.
    if (await robots.findWanted(jobId)) throw error;
  } finally {
    if (!(await robots.findWanted(jobId)) && !(await deps.tracks.needsFiles(trackId)))
      await blobs.deletePrefix(trackPrefix(assetId, trackId));
  }
};
