import type { Database } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { findReadyRendition } from '../../db/tables/assets/static-rendition.js';
import type { Clock } from '../../lib/clock.js';
import { createTtlCache } from '../../lib/ttl-cache.js';
import { type DownloadContent, openDownload } from '../../storage/blob-download.js';
import type { BlobStore } from '../../storage/blob-store.js';
import { renditionKey } from '../../storage/keys.js';

/** A downloadable file, while it may be read. */
export interface OpenedRendition extends DownloadContent {
  readonly sizeBytes: number;
  /** A strong validator, including quotation marks. */
  readonly etag: string;
  readonly rendition: Row<'static_rendition'>;
}

export interface RenditionOpener {
  /** Undefined when the asset does not have the file, or not yet. */
  open(assetId: string, name: string): Promise<OpenedRendition | undefined>;
  /** Files of this asset may have been deleted. */
  forget(assetId: string): void;
}

export type OpenRendition = RenditionOpener['open'];

/**
 * Queries the database each time: a file is requested a few times per hour, and a deleted one must disappear
 * immediately. While the database is unavailable, files that were requested before are found in memory.
 */
export const createRenditionOpener = (deps: {
  readonly database: Database;
  readonly blobs: BlobStore;
  readonly clock: Clock;
}): RenditionOpener => {
  const { database, blobs, clock } = deps;
  const renditions = createTtlCache<Row<'static_rendition'>>({
    load: async (ids) => {
      const found = new Map<string, Row<'static_rendition'>>();
      for (const id of ids) {
        const [assetId, name] = JSON.parse(id);
        const rendition = await findReadyRendition(database.queryable, assetId, name);
        if (rendition) found.set(id, rendition);
      }
      return found;
    },
    clock,
    lifetimeMs: () => 0,
    groupOf: ({ asset_id }) => asset_id,
  });
  return {
    async open(assetId, name) {
      const rendition = await renditions.find(JSON.stringify([assetId, name]));
      if (!rendition) return undefined;
      // Undefined when it was deleted since the query.
      const content = await openDownload(blobs, renditionKey(assetId, rendition.id));
      // A file is written once under a unique ID.
      return content && { ...content, sizeBytes: rendition.size_bytes!, etag: `"${rendition.id}"`, rendition };
    },
    forget: (assetId) => renditions.forgetGroup(assetId),
  };
};
