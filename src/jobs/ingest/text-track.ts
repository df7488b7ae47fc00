import { KinoraError } from '../../lib/errors.js';
import { decodeText } from '../../media/decode-text.js';
import { parseSubtitles, trimCues, writeWebvtt } from '../../media/subtitles.js';
import { readBlob } from '../../storage/blob-store.js';
import { trackSourceKey, trackTextKey } from '../../storage/keys.js';
import { fetchTrackSource, type TrackIngest, type TrackIngestDeps } from './ingest-one-track.js';

/** Ten times what the longest film has. */
const MAX_TEXT_BYTES = 25 * 2 ** 20;

/** Fetches the file of a text track and keeps it as WebVTT, cut to the length of the asset. */
export const ingestTextTrack = async (deps: TrackIngestDeps, ingest: TrackIngest): Promise<void> => {
  const { track, signal } = ingest;
  const { id, asset_id: assetId } = track;
  const textKey = trackTextKey(assetId, id);
  const sourceKey = trackSourceKey(assetId, id);
  if (!(await deps.blobs.stat(textKey))) {
    await fetchTrackSource(deps, track, { signal, maxBytes: MAX_TEXT_BYTES });
    const subtitles = parseSubtitles(decodeText((await readBlob(deps.blobs, sourceKey))!));
    if (!subtitles) throw new KinoraError('invalid_input', { messages: ['The text file could not be parsed.'] });
    await deps.state.saveInputFile(track, { container_format: subtitles.format, tracks: [{ type: 'text' }] });
    const { durationSeconds } = await ingest.plan();
    await deps.blobs.put(textKey, Buffer.from(writeWebvtt(trimCues(subtitles.cues, 0, durationSeconds))));
  }
  await deps.blobs.delete(sourceKey);
  await deps.state.complete(id);
};
