import type { CaptionsPayload } from '../domain/queues.js';
import type { RecognitionState } from '../domain/tracks/recognition-state.js';
import type { TrackState } from '../domain/tracks/track-state.js';
import type { CaptionsWork } from '../jobs/recognize-speech.js';
import { type AudioDeps, recognizeAudio } from '../jobs/speech/recognize-audio.js';
import { KinoraError } from '../lib/errors.js';
import { languageCodeOf } from '../media/speech/languages.js';
import { speechPrefix, trackPrefix } from '../storage/keys.js';
import type { WorkflowParams } from './api/workflows.js';
import { stepKey } from './jobs/job-files.js';
import type { RobotsJobState } from './jobs/job-state.js';
import { type RecognizedSpeech, SPEECH_STEP } from './workflows/generate-premium-captions.js';

interface CaptionsDeps extends Omit<AudioDeps, 'transcriber'> {
  /** Undefined when speech recognition is not configured. */
  readonly transcriber: AudioDeps['transcriber'] | undefined;
  readonly recognition: Pick<RecognitionState, 'findAudio' | 'listPhrases'>;
  readonly tracks: Pick<TrackState, 'needsFiles'>;
  readonly jobs: RobotsJobState;
}

/**
 * Recognizes speech for robots jobs and lets them continue; does nothing for a job that has ended.
 */
export class CaptionsRecognition implements CaptionsWork {
  constructor(private readonly deps: CaptionsDeps) {}

  async run({ robotsJobId: jobId, audioTrackId }: CaptionsPayload, signal: AbortSignal): Promise<void> {
    const { blobs, jobs, recognition, tracks, transcriber, logger } = this.deps;
    if (!transcriber)
      throw new KinoraError('provider_unavailable', { messages: ['Speech recognition is not available.'] });
    const job = await jobs.findProcessing(jobId);
    if (!job) return;
    const { asset_id: assetId, new_track_id: trackId } = job;
    const { language_code: code, phrases = [] } = job.parameters as WorkflowParams<'generate-premium-captions'>;
    const done = stepKey(assetId, jobId, SPEECH_STEP);
    let speech: RecognizedSpeech = {};
    try {
      if (!(await blobs.stat(done))) {
        await recognizeAudio(
          { ...this.deps, transcriber, logger: logger.child({ asset_id: assetId, robots_job_id: jobId }) },
          {
            assetId,
            trackId,
            audio: await recognition.findAudio(assetId, audioTrackId),
            language: (code === undefined ? undefined : languageCodeOf(code)) ?? 'auto',
            phrases: [...phrases, ...(await recognition.listPhrases(assetId))],
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
      await jobs.wake(jobId);
    } catch (error) {
      // Cancelled or deleted with its asset: the reason for the failure does not matter.
      if (await jobs.findProcessing(jobId)) throw error;
    } finally {
      if (!(await jobs.findProcessing(jobId)) && !(await tracks.needsFiles(trackId)))
        await blobs.deletePrefix(trackPrefix(assetId, trackId));
    }
  }

  async fail({ robotsJobId: jobId }: CaptionsPayload, error: unknown): Promise<void> {
    const { blobs, jobs } = this.deps;
    const job = await jobs.findProcessing(jobId);
    await jobs.fail(jobId, error);
    if (job) await blobs.deletePrefix(trackPrefix(job.asset_id, job.new_track_id));
  }
}
