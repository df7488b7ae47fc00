import { LRUCache } from 'lru-cache';
import { isKinoraError } from '../lib/errors.js';
import { type IndexedText, indexCues, readTextIndex, writeTextIndex } from '../media/text/text-index.js';
import { type BlobStore, readBlob } from '../storage/blob-store.js';
import { trackTextIndexKey, trackTextKey } from '../storage/keys.js';
import type { ParseText } from './parse-text.js';

/** Bytes of text; a film has about 100,000. */
const MAX_CACHED_BYTES = 16 * 2 ** 20;

/** Stores and reads text tracks, and keeps the most recently used ones in memory. */
export class TextTracks {
  private readonly cache = new LRUCache<string, IndexedText, readonly [assetId: string, trackId: string]>({
    maxSize: MAX_CACHED_BYTES,
    sizeCalculation: ({ bytes }) => bytes.length,
    ignoreFetchAbort: true,
    fetchMethod: (_key, _stale, { context: [assetId, trackId] }) => this.load(assetId, trackId),
  });

  constructor(
    private readonly blobs: Pick<BlobStore, 'read' | 'put'>,
    /** Parses a file that becomes a track. */
    readonly parse: ParseText,
  ) {}

  /** Undefined when the track has no text. Stored text never changes. */
  find(assetId: string, trackId: string): Promise<IndexedText | undefined> {
    return this.cache.fetch(trackTextKey(assetId, trackId), { context: [assetId, trackId] });
  }

  async store(assetId: string, trackId: string, text: IndexedText): Promise<void> {
    // The text is stored last, so that its index exists whenever it does.
    await this.blobs.put(trackTextIndexKey(assetId, trackId), writeTextIndex(text));
    await this.blobs.put(trackTextKey(assetId, trackId), text.bytes);
  }

  private async load(assetId: string, trackId: string): Promise<IndexedText | undefined> {
    const bytes = await readBlob(this.blobs, trackTextKey(assetId, trackId));
    if (!bytes) return undefined;
    const index = await readBlob(this.blobs, trackTextIndexKey(assetId, trackId));
    const indexed = index && readTextIndex(bytes, index);
    if (indexed) return indexed;
    // Stored by a version without indexes.
    const text = await this.parse(bytes).catch((error: unknown) => {
      // A track that lies completely after the end of its asset has no cues.
      if (isKinoraError(error, 'invalid_input')) return indexCues([]);
      throw error;
    });
    await this.store(assetId, trackId, text);
    return text;
  }
}
