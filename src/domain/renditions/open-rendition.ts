import type { Database } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { findReadyRendition } from '../../db/tables/assets/static-rendition.js';
import { isKinoraError } from '../../lib/errors.js';
import type { BlobStore } from '../../storage/blob-store.js';
import { renditionKey } from '../../storage/keys.js';

/** A downloadable file, while it may be read. */
export interface OpenedRendition {
  readonly path: string;
  readonly sizeBytes: number;
  /** A strong validator, including quotation marks. */
  readonly etag: string;
  readonly rendition: Row<'static_rendition'>;
  release(): Promise<void>;
}

/** Undefined when the asset does not have the file, or not yet. */
export type OpenRendition = (assetId: string, name: string) => Promise<OpenedRendition | undefined>;

/**
 * Queries the database each time: a file is requested a few times per hour, and a deleted one must disappear
 * immediately.
 */
export const createRenditionOpener =
  ({ database, blobs }: { readonly database: Database; readonly blobs: BlobStore }): OpenRendition =>
  async (assetId, name) => {
    const rendition = await findReadyRendition(database.queryable, assetId, name);
    if (!rendition) return undefined;
    const blob = await blobs.openLocal(renditionKey(assetId, rendition.id)).catch((error: unknown) => {
      // Deleted since the query.
      if (isKinoraError(error, 'not_found')) return undefined;
      throw error;
    });
    // A file is written once under a unique ID.
    const opened = { sizeBytes: rendition.size_bytes!, etag: `"${rendition.id}"`, rendition };
    return blob && { ...opened, path: blob.path, release: () => blob.release() };
  };
