import type { Row } from '../../db/schema.js';
import { invalidParameters, isKinoraError, KinoraError } from '../../lib/errors.js';
import { newId } from '../../lib/ids.js';
import type { Cue } from '../../media/text/subtitles.js';
import { clipText, type IndexedText, indexCues, listCues } from '../../media/text/text-index.js';
import { getAsset } from '../asset-view/get-asset.js';
import type { DomainContext } from '../context.js';
import { queues } from '../queues.js';
import { changeTracks, type LockedTracks } from './change-tracks.js';
import { dropTrack } from './delete-track.js';
import { getTrack } from './get-track.js';
import { publishText } from './publish-text.js';
import { isRecognized } from './text-source.js';
import { claimName, languageName, takenNames } from './track-name.js';

/** Where the text of text tracks is. An interface, because the domain may not import `packager`. */
export interface TextStore {
  /** Undefined when the track has no text. */
  find(assetId: string, trackId: string): Promise<IndexedText | undefined>;
  store(assetId: string, trackId: string, text: IndexedText): Promise<void>;
  /** @throws KinoraError `invalid_input` for bytes that are no subtitles */
  parse(bytes: Uint8Array): Promise<IndexedText>;
}

interface Context extends DomainContext {
  readonly texts: TextStore;
}

/** A track of an asset of an environment. */
export interface TrackOf {
  readonly environmentId: string;
  readonly assetId: string;
  readonly trackId: string;
}

/**
 * The cues of a ready text track.
 * @throws KinoraError `not_found`, `invalid_parameters`
 */
export const getCues = async (context: Context, of: TrackOf): Promise<Cue[]> => {
  await getEditable(context, of);
  const text = await context.texts.find(of.assetId, of.trackId);
  if (!text) throw new KinoraError('not_found');
  return listCues(text);
};

/**
 * Replaces a text track with one that has other cues and the same name, language and passthrough.
 * It is a new track with a new ID, because players may keep the text of an ID. The old track is
 * removed in the transaction that adds the new one, so a failure leaves it as it was.
 * @throws KinoraError `not_found`, `invalid_parameters`
 */
export const replaceCues = async (context: Context, of: TrackOf, cues: readonly Cue[]): Promise<Row<'track'>> => {
  const { environmentId, trackId } = of;
  await getEditable(context, of);
  const id = await storeText(context, of, indexCues(cues).bytes);
  return publishStored(context, of, id, async ({ tx, asset, get }) => {
    const track = get(trackId);
    await dropTrack(context, tx, environmentId, track);
    return publishText(context, tx, asset, {
      id,
      name: track.name ?? '',
      languageCode: track.language_code ?? 'und',
      closedCaptions: track.closed_captions ?? false,
      passthrough: track.passthrough,
      // Corrected, it is still what was said, so it keeps its transcript.
      recognized: isRecognized(track.text_source)
        ? { audioTrackId: track.audio_track_id, confidence: track.language_confidence }
        : undefined,
    });
  });
};

export interface NewTextFile {
  readonly languageCode: string;
  /** The name of the language when absent. */
  readonly name?: string | undefined;
  readonly closedCaptions: boolean;
  /** SubRip or WebVTT. */
  readonly bytes: Uint8Array;
}

/**
 * Adds a text track from the bytes of a file; the API takes URLs only.
 * @throws KinoraError `not_found`, `invalid_parameters`
 */
export const addTextFile = async (
  context: Context,
  of: Omit<TrackOf, 'trackId'>,
  { languageCode, name, closedCaptions, bytes }: NewTextFile,
): Promise<Row<'track'>> => {
  const id = await storeText(context, of, bytes);
  return publishStored(context, of, id, async ({ tx, asset, tracks }) => {
    const taken = takenNames(tracks, 'text');
    if (name && taken.has(name)) throw invalidParameters('name must be unique among text tracks');
    return publishText(context, tx, asset, {
      id,
      name: name || claimName(languageName(languageCode), taken),
      languageCode,
      closedCaptions,
    });
  });
};

/** Makes a stored text a track. When that fails, the text is removed in the background. */
const publishStored = async (
  context: Context,
  { environmentId, assetId }: Omit<TrackOf, 'trackId'>,
  id: string,
  publish: (locked: LockedTracks) => Promise<Row<'track'>>,
): Promise<Row<'track'>> => {
  try {
    return await changeTracks(context, environmentId, assetId, publish);
  } catch (error) {
    await context.queue.enqueue(queues.purgeTrack, { assetId, trackId: id });
    throw error;
  }
};

const getEditable = async (context: Context, { environmentId, assetId, trackId }: TrackOf): Promise<void> => {
  const { type, status, text_source: source } = await getTrack(context, environmentId, assetId, trackId);
  if (type !== 'text' || status !== 'ready') throw invalidParameters('Only a ready text track has cues');
  if (source === 'generated_live')
    throw invalidParameters('Live subtitles cannot be edited. Edit the track that replaces them after the stream.');
};

/**
 * Stores a text, cut to the length of the asset, under the ID of a track that does not exist yet,
 * and returns the ID.
 */
const storeText = async (
  context: Context,
  { environmentId, assetId }: Omit<TrackOf, 'trackId'>,
  bytes: Uint8Array,
): Promise<string> => {
  const { asset } = await getAsset(context, environmentId, assetId);
  if (asset.status !== 'ready' || asset.duration_seconds === null)
    throw invalidParameters('Tracks can only be added to a ready asset');
  const parsed = await context.texts.parse(bytes).catch((error: unknown) => {
    if (!isKinoraError(error, 'invalid_input')) throw error;
    throw invalidParameters('The text has no cues. It must be WebVTT or SubRip, with at least one cue.');
  });
  const text = clipText(parsed, 0, asset.duration_seconds);
  if (text.startSeconds.length === 0) throw invalidParameters('All cues are after the end of the asset.');
  const id = newId();
  await context.texts.store(assetId, id, text);
  return id;
};
