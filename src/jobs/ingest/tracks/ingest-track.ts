import { trackPrefix } from '../../../storage/keys.js';
import { ingestAudioTrack } from './audio-track.js';
import { ingestTextTrack } from './text-track.js';
import type { TrackContext, TrackIngestDeps } from './track-source.js';

/**
 * From the address of a track's file to a ready track. Every step leaves its result where the next run finds it.
 * @throws KinoraError what the fetcher throws; `invalid_input` for a file that is not what it should be
 */
export const ingestTrack = async (context: TrackContext): Promise<void> => {
  const { track } = context;
  if (track.status !== 'preparing') return;
  try {
    await (track.type === 'text' ? ingestTextTrack : ingestAudioTrack)(context);
  } finally {
    // Deleted meanwhile: what this run wrote after the purge goes too.
    await removeUnusedFiles(context, track.asset_id, track.id);
  }
};

/** Removes the files of a track that is deleted, unless a clip plays them. */
export const removeUnusedFiles = async (
  { state, blobs }: Pick<TrackIngestDeps, 'state' | 'blobs'>,
  assetId: string,
  trackId: string,
): Promise<void> => {
  if (!(await state.needsFiles(trackId))) await blobs.deletePrefix(trackPrefix(assetId, trackId));
};
