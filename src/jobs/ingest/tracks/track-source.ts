import type { SegmentStore } from '../../../cache/segment-store.js';
import type { Row } from '../../../db/schema.js';
import { mediaPlaylistOf } from '../../../domain/import/playlist-url.js';
import { COPIED_POSITION } from '../../../domain/tracks/copied-position.js';
import type { TrackMedia, TrackState } from '../../../domain/tracks/track-state.js';
import { KinoraError } from '../../../lib/errors.js';
import type { Plan } from '../../../media/plan/plan.js';
import type { SourceFetcher } from '../../../net/fetch-source.js';
import type { SegmentProducer } from '../../../packager/segment-producer.js';
import type { TextTracks } from '../../../packager/text-tracks.js';
import type { MediaPool } from '../../../pool/media-pool.js';
import type { BlobStore } from '../../../storage/blob-store.js';
import { trackSourceKey } from '../../../storage/keys.js';
import type { Logger } from '../../../telemetry/logger.js';
import { fetchAudioPlaylist } from './fetch-audio-playlist.js';

export interface TrackIngestDeps {
  readonly state: TrackState;
  readonly blobs: BlobStore;
  readonly fetcher: SourceFetcher;
  readonly texts: TextTracks;
  readonly pool: Pick<MediaPool, 'run'>;
  readonly producer: SegmentProducer;
  readonly cache: SegmentStore;
  /** A directory that media processes may write to. */
  readonly temporaryDir: string;
  readonly logger: Logger;
}

/** One run of the ingest of a track. */
export interface TrackContext extends TrackIngestDeps {
  readonly track: Row<'track'>;
  /** The plan of the track's asset; waits for it while the asset is still preparing. */
  readonly plan: () => Promise<Plan>;
  readonly signal: AbortSignal;
}

/** Whether a clip has the track from its source asset, which is its first input. */
export const isCopied = (track: Row<'track'>): boolean => track.input_position === COPIED_POSITION;

/** Whether an audio track is a stream of the main file of an asset, which has no other file. */
export const isStreamOfAsset = ({ sourceAssetId, sourceTrackId }: TrackMedia): boolean =>
  sourceTrackId === sourceAssetId;

/** Stores the file of a track as `trackSourceKey` unless an earlier run has done so. */
export const fetchTrackSource = async (
  { track, blobs, fetcher, state, signal }: TrackContext,
  { maxBytes }: { readonly maxBytes?: number } = {},
): Promise<void> => {
  const key = trackSourceKey(track.asset_id, track.id);
  if (await blobs.stat(key)) return;
  if (track.url === null) throw new KinoraError('internal_error', { details: { stage: 'the file of a track' } });
  const playlist = mediaPlaylistOf(track.url);
  if (playlist !== undefined) return fetchAudioPlaylist(playlist, await blobs.resumeWrite(key), { fetcher, signal });
  await fetcher.fetch(track.url, await blobs.resumeWrite(key), {
    signal,
    maxBytes,
    validator: track.source_validator ?? undefined,
    onValidator: (validator) => state.saveValidator(track.id, validator),
  });
};
