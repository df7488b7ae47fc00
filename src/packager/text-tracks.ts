import { LRUCache } from 'lru-cache';
import { isKinoraError } from '../lib/errors.js';
import { type IndexedText, indexCues, readTextIndex, writeTextIndex } from '../media/text/text-index.js';
import { type BlobStore, readBlob } from '../storage/blob-store.js';
import { trackTextIndexKey, trackTextKey } from '../storage/keys.js';
import type { ParseText } from './parse-text.js';

/** Stores and reads text tracks, and keeps the most recently used ones in memory. */
export interface TextTracks {
  /** Undefined when the track has no text. Stored text never changes. */
  find(assetId: string, trackId: string): Promise<IndexedText | undefined>;
  store(assetId: string, trackId: string, text: IndexedText): Promise<void>;
  /** Parses a file that becomes a track. */
  readonly parse: ParseText;
}

/** Bytes of text; a film has about 100,000. */
const MAX_KEPT = 16 * 2 ** 20;

export const createTextTracks = (blobs: Pick<BlobStore, 'read' | 'put'>, parse: ParseText): TextTracks => {
  const store = async (assetId: string, trackId: string, text: IndexedText): Promise<void> => {
    // The text is stored last, so that its index exists whenever it does.
    await blobs.put(trackTextIndexKey(assetId, trackId), writeTextIndex(text));
    await blobs.put(trackTextKey(assetId, trackId), text.bytes);
  };

  const load = async (assetId: string, trackId: string): Promise<IndexedText | undefined> => {
    const key = trackTextKey(assetId, trackId);
    const bytes = await readBlob(blobs, key);
    if (!bytes) return undefined;
    const index = await readBlob(blobs, trackTextIndexKey(assetId, trackId));
    let track = index && readTextIndex(bytes, index);
    if (!track) {
      // Stored by a version without indexes.
      track = await parse(bytes).catch((error: unknown) => {
        // A track that lies completely after the end of its asset has no cues.
        if (isKinoraError(error, 'invalid_input')) return indexCues([]);
        throw error;
      });
      await store(assetId, trackId, track);
    }
    return track;
  };

  const kept = new LRUCache<string, IndexedText, readonly [assetId: string, trackId: string]>({
    maxSize: MAX_KEPT,
    sizeCalculation: ({ bytes }) => bytes.length,
    ignoreFetchAbort: true,
    fetchMethod: (_key, _stale, { context: [assetId, trackId] }) => load(assetId, trackId),
  });

  return {
    parse,
    store,
    find: (assetId, trackId) => kept.fetch(trackTextKey(assetId, trackId), { context: [assetId, trackId] }),
  };
};
