import { json } from 'node:stream/consumers';
import type { TrackMedia } from '../../domain/tracks/track-state.js';
import { KinoraError } from '../../lib/errors.js';
import { clipStartSeconds } from '../../media/plan/clip.js';
import { cutWords } from '../../media/speech/cut-words.js';
import { makeCues } from '../../media/speech/make-cues.js';
import type { Word } from '../../media/speech/word.js';
import { clipText, type IndexedText, indexCues } from '../../media/text/text-index.js';
import { readBlob } from '../../storage/blob-store.js';
import { trackSourceKey, trackTextKey, trackWordsKey } from '../../storage/keys.js';
import { fetchTrackSource, isCopied, type TrackIngest, type TrackIngestDeps } from './track-source.js';

/** Many times what the longest film has. */
const MAX_TEXT_BYTES = 10 * 2 ** 20;

/** Fetches the file of a text track and keeps it as WebVTT, cut to the length of the asset. */
export const ingestTextTrack = async (deps: TrackIngestDeps, ingest: TrackIngest): Promise<void> => {
  const { id, asset_id: assetId } = ingest.track;
  if (!(await deps.blobs.stat(trackTextKey(assetId, id)))) {
    const text = await (isCopied(ingest.track) ? copyText : fetchText)(deps, ingest);
    await deps.texts.store(assetId, id, text);
  }
  await deps.blobs.delete(trackSourceKey(assetId, id));
  await deps.state.complete(id);
};

const fetchText = async (deps: TrackIngestDeps, { track, plan, signal }: TrackIngest): Promise<IndexedText> => {
  await fetchTrackSource(deps, track, { signal, maxBytes: MAX_TEXT_BYTES });
  const key = trackSourceKey(track.asset_id, track.id);
  const { format, ...text } = await deps.texts
    .parse((await readBlob(deps.blobs, key))!, signal)
    .catch(async (error) => {
      if (!signal.aborted) await deps.blobs.delete(key);
      throw error;
    });
  await deps.state.saveInputFile(track, { container_format: format, tracks: [{ type: 'text' }] });
  return clipText(text, 0, (await plan()).durationSeconds);
};

/** What of a track of the source is within the clip, with times that count from its start. */
const copyText = async (deps: TrackIngestDeps, { track, plan }: TrackIngest): Promise<IndexedText> => {
  const media = await deps.state.findMedia(track);
  const text = media && (await deps.texts.find(media.sourceAssetId, media.sourceTrackId));
  if (!text || !media.copied) throw new KinoraError('not_found');
  const clip = await plan();
  const startSeconds = clipStartSeconds(clip, media.copied.clip);
  const words = await readWords(deps, media);
  if (!words) return clipText(text, startSeconds, startSeconds + clip.durationSeconds);
  // Of speech, exactly what is said in the clip.
  const startMs = startSeconds * 1000;
  const cut = cutWords(words, startMs, startMs + clip.durationSeconds * 1000);
  await deps.blobs.put(trackWordsKey(track.asset_id, track.id), Buffer.from(JSON.stringify(cut)));
  return indexCues(makeCues(cut, clip.durationSeconds * 1000));
};

/** Undefined when the text does not come from speech recognition. */
const readWords = async (
  { blobs }: TrackIngestDeps,
  { sourceAssetId, sourceTrackId }: TrackMedia,
): Promise<readonly Word[] | undefined> => {
  const stored = await blobs.read(trackWordsKey(sourceAssetId, sourceTrackId));
  return stored && ((await json(stored)) as readonly Word[]);
};
