import { type Cue, parseSubtitles } from '../media/subtitles.js';
import { type BlobStore, readBlob } from '../storage/blob-store.js';
import { trackTextKey } from '../storage/keys.js';

/** A text track as viewers get it. */
export interface TextTrack {
  /** The whole WebVTT file. */
  readonly text: string;
  readonly cues: readonly Cue[];
}

/** Reads text tracks; those asked for last stay in memory, since each of their segments needs the whole. */
export interface TextTracks {
  /** Undefined when there is no text of this track. What is stored never changes. */
  find(assetId: string, trackId: string): Promise<TextTrack | undefined>;
}

/** Characters of text; a film has some 100 000. */
const MAX_KEPT = 16 * 2 ** 20;

export const createTextTracks = (blobs: Pick<BlobStore, 'read'>): TextTracks => {
  const kept = new Map<string, TextTrack>();
  const reading = new Map<string, Promise<TextTrack | undefined>>();
  let size = 0;

  const keep = (key: string, track: TextTrack): void => {
    kept.set(key, track);
    size += track.text.length;
    for (const [oldest, { text }] of kept) {
      if (size <= MAX_KEPT) break;
      kept.delete(oldest);
      size -= text.length;
    }
  };

  const load = async (key: string): Promise<TextTrack | undefined> => {
    const bytes = await readBlob(blobs, key);
    if (!bytes) return undefined;
    const text = bytes.toString('utf8');
    // A track that lies wholly behind the end of its asset has no cue.
    const track = { text, cues: parseSubtitles(text)?.cues ?? [] };
    keep(key, track);
    return track;
  };

  return {
    async find(assetId, trackId) {
      const key = trackTextKey(assetId, trackId);
      const known = kept.get(key);
      if (known) {
        kept.delete(key);
        kept.set(key, known);
        return known;
      }
      const begun = reading.get(key) ?? load(key).finally(() => reading.delete(key));
      reading.set(key, begun);
      return begun;
    },
  };
};
