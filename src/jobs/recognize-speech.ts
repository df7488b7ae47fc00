import { RECOGNITION_QUEUE } from '../domain/tracks/generate-subtitles.js';
import type { TrackState } from '../domain/tracks/track-state.js';
import { KinoraError } from '../lib/errors.js';
import type { Job, QueueWorker } from '../queue/queue.js';

interface RecognitionPayload {
  readonly trackId: string;
}

/** Speech recognition is not built in: each generated track ends with an error that says so. */
export const createRecognitionWorker = (state: Pick<TrackState, 'fail'>): QueueWorker => ({
  queue: RECOGNITION_QUEUE,
  concurrency: 1,
  handler: (job: Job<RecognitionPayload>) =>
    state.fail(
      job.payload.trackId,
      new KinoraError('internal_error', { messages: ['Speech recognition is not available.'], failure: 'fail' }),
    ),
  onFailed: (job: Job<RecognitionPayload>, error) => state.fail(job.payload.trackId, error),
});
