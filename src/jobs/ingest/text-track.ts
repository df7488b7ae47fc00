import { KinoraError } from '../../lib/errors.js';
import { clipStartSeconds } from '../../media/clip.js';
import { decodeText } from '../../media/decode-text.js';
import { type Cue, parseSubtitles, trimCues, writeWebvtt } from '../../media/subtitles.js';
import { readBlob } from '../../storage/blob-store.js';
import { trackSourceKey, trackTextKey } from '../../storage/keys.js';
import { fetchTrackSource, isCopied, type TrackIngest, type TrackIngestDeps } from './track-source.js';

/** Many times what the longest film has; reading that much keeps the process busy for a second. */
const MAX_TEXT_BYTES = 10 * 2 ** 20;

/** Fetches the file of a text track and keeps it as WebVTT, cut to the length of the asset. */
export const ingestTextTrack = async (deps: TrackIngestDeps, ingest: TrackIngest): Promise<void> => {
  const { id, asset_id: assetId } = ingest.track;
  const textKey = trackTextKey(assetId, id);
  if (!(await deps.blobs.stat(textKey))) {
    const cues = await (isCopied(ingest.track) ? copyCues : fetchCues)(deps, ingest);
    await deps.blobs.put(textKey, Buffer.from(writeWebvtt(cues)));
  }
  await deps.blobs.delete(trackSourceKey(assetId, id));
  await deps.state.complete(id);
};

const fetchCues = async (deps: TrackIngestDeps, { track, plan, signal }: TrackIngest): Promise<Cue[]> => {
  await fetchTrackSource(deps, track, { signal, maxBytes: MAX_TEXT_BYTES });
  const key = trackSourceKey(track.asset_id, track.id);
  const subtitles = parseSubtitles(decodeText((await readBlob(deps.blobs, key))!));
  if (!subtitles) {
    await deps.blobs.delete(key);
    throw new KinoraError('invalid_input', { messages: ['The text file could not be parsed.'] });
  }
  await deps.state.saveInputFile(track, { container_format: subtitles.format, tracks: [{ type: 'text' }] });
  return trimCues(subtitles.cues, 0, (await plan()).durationSeconds);
};

/** What of a track of the source is within the clip, with times that count from its start. */
const copyCues = async (deps: TrackIngestDeps, { track, plan }: TrackIngest): Promise<Cue[]> => {
  const media = await deps.state.findMedia(track);
  const bytes = media && (await readBlob(deps.blobs, trackTextKey(media.sourceAssetId, media.sourceTrackId)));
  if (!bytes || !media.copied) throw new KinoraError('not_found');
  const clip = await plan();
  const startSeconds = clipStartSeconds(clip, media.copied.clip);
  const cues = parseSubtitles(bytes.toString('utf8'))?.cues ?? [];
  return trimCues(cues, startSeconds, startSeconds + clip.durationSeconds);
};
