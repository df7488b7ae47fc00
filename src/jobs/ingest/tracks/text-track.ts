import { json } from 'node:stream/consumers';
import type { TrackMedia } from '../../../domain/tracks/track-state.js';
import { KinoraError } from '../../../lib/errors.js';
import { clipStartSeconds } from '../../../media/plan/clip.js';
import { cutWords } from '../../../media/speech/cut-words.js';
import { makeCues } from '../../../media/speech/make-cues.js';
import type { Word } from '../../../media/speech/word.js';
import { clipText, type IndexedText, indexCues } from '../../../media/text/text-index.js';
import { readBlob } from '../../../storage/blob-store.js';
import { trackSourceKey, trackTextKey, trackWordsKey } from '../../../storage/keys.js';
import { fetchTrackSource, isCopied, type TrackContext } from './track-source.js';

/** Many times the size of the longest film's text. */
const MAX_TEXT_BYTES = 10 * 2 ** 20;

/** Fetches the file of a text track and stores it as WebVTT, cut to the length of the asset. */
export const ingestTextTrack = async (context: TrackContext): Promise<void> => {
  const { track, blobs, texts, state } = context;
  const { id, asset_id: assetId } = track;
  if (!(await blobs.stat(trackTextKey(assetId, id)))) {
    const text = await (isCopied(track) ? copyText : fetchText)(context);
    await texts.store(assetId, id, text);
  }
  await blobs.delete(trackSourceKey(assetId, id));
  await state.complete(id);
};

const fetchText = async (context: TrackContext): Promise<IndexedText> => {
  const { track, blobs, texts, plan, signal } = context;
  await fetchTrackSource(context, { maxBytes: MAX_TEXT_BYTES });
  const key = trackSourceKey(track.asset_id, track.id);
  const { format, ...text } = await texts.parse((await readBlob(blobs, key))!, signal).catch(async (error) => {
    if (!signal.aborted) await blobs.delete(key);
    throw error;
  });
  await context.state.saveInputFile(track, { container_format: format, tracks: [{ type: 'text' }] });
  return clipText(text, 0, (await plan()).durationSeconds);
};

/** Copies the part of a source track that is within the clip; times count from the clip's start. */
const copyText = async (context: TrackContext): Promise<IndexedText> => {
  const { track, plan, state, texts, blobs } = context;
  const media = await state.findMedia(track);
  const text = media && (await texts.find(media.sourceAssetId, media.sourceTrackId));
  if (!text || !media.copied) throw new KinoraError('not_found');
  const clip = await plan();
  const startSeconds = clipStartSeconds(clip, media.copied.clip);
  const words = await readWords(context, media);
  if (!words) return clipText(text, startSeconds, startSeconds + clip.durationSeconds);
  // For recognized speech, exactly what is said in the clip.
  const startMs = startSeconds * 1000;
  const cut = cutWords(words, startMs, startMs + clip.durationSeconds * 1000);
  await blobs.put(trackWordsKey(track.asset_id, track.id), Buffer.from(JSON.stringify(cut)));
  return indexCues(makeCues(cut, clip.durationSeconds * 1000));
};

/** Undefined when the text does not come from speech recognition. */
const readWords = async (
  { blobs }: TrackContext,
  { sourceAssetId, sourceTrackId }: TrackMedia,
): Promise<readonly Word[] | undefined> => {
  const stored = await blobs.read(trackWordsKey(sourceAssetId, sourceTrackId));
  return stored && ((await json(stored)) as readonly Word[]);
};
