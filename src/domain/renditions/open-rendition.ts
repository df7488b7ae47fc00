import type { Database } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { findReadyRendition } from '../../db/tables/assets/static-rendition.js';
import type { Clock } from '../../lib/clock.js';
import { TtlCache } from '../../lib/ttl-cache.js';
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

/**
 * Opens files for download. Queries the database each time: a file is requested a few times per
 * hour, and a deleted one must disappear immediately. While the database is unavailable, files that
 * were requested before are found in memory.
 */
export class RenditionOpener {
  readonly #blobs: BlobStore;
  readonly #renditions: TtlCache<Row<'static_rendition'>>;

  constructor({ database, blobs, clock }: { database: Database; blobs: BlobStore; clock: Clock }) {
    this.#blobs = blobs;
    this.#renditions = new TtlCache<Row<'static_rendition'>>({
      load: async (ids) => {
        const rows = new Map<string, Row<'static_rendition'>>();
        for (const id of ids) {
          const [assetId, name] = JSON.parse(id);
          const rendition = await findReadyRendition(database.queryable, assetId, name);
          if (rendition) rows.set(id, rendition);
        }
        return rows;
      },
      clock,
      lifetimeMs: () => 0,
      groupOf: ({ asset_id }) => asset_id,
    });
  }

  /** Undefined when the asset does not have the file, or not yet. */
  async open(assetId: string, name: string): Promise<OpenedRendition | undefined> {
    const rendition = await this.#renditions.find(JSON.stringify([assetId, name]));
    if (!rendition) return undefined;
    // Undefined when it was deleted since the query.
    const content = await openDownload(this.#blobs, renditionKey(assetId, rendition.id));
    // A file is written once under a unique ID.
    return content && { ...content, sizeBytes: rendition.size_bytes!, etag: `"${rendition.id}"`, rendition };
  }

  /** Files of this asset may have been deleted. */
  forget(assetId: string): void {
    this.#renditions.forgetGroup(assetId);
  }
}

export type OpenRendition = RenditionOpener['open'];
