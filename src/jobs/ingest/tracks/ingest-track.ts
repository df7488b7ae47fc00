import { trackPrefix } from '../../../storage/keys.js';
import { ingestAudioTrack } from './audio-track.js';
import { ingestTextTrack } from './text-track.js';
import type { TrackContext, TrackIngestDeps } from './track-source.js';

/**
 * From the URL of a track's file to a ready track. Every step stores its result, so the next run
 * continues after it.
 * @throws KinoraError what the fetcher throws; `invalid_input` for an unsuitable file
 */
export const ingestTrack = async (context: TrackContext): Promise<void> => {
  const { track } = context;
  if (track.status !== 'preparing') return;
  try {
    await (track.type === 'text' ? ingestTextTrack : ingestAudioTrack)(context);
  } finally {
    // Deleted in the meantime: remove what this run wrote after the purge.
    await removeUnusedFiles(context, track.asset_id, track.id);
  }
};

/** Removes the files of a deleted track unless a clip plays them. */
export const removeUnusedFiles = async (
  { state, blobs }: Pick<TrackIngestDeps, 'state' | 'blobs'>,
  assetId: string,
  trackId: string,
): Promise<void> => {
  if (!(await state.needsFiles(trackId))) await blobs.deletePrefix(trackPrefix(assetId, trackId));
};
