import { KinoraError } from '../../lib/errors.js';
import type { TrackIngest, TrackIngestDeps } from './ingest-one-track.js';

/** Fetches the sound of a further audio track and plans how it is cut. */
export const ingestAudioTrack = async (_deps: TrackIngestDeps, { track }: TrackIngest): Promise<void> => {
  throw new KinoraError('internal_error', { details: { stage: 'audio track', trackId: track.id } });
};
