import type { Database } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { findReadyRendition } from '../../db/tables/assets/static-rendition.js';
import { isKinoraError } from '../../lib/errors.js';
import type { BlobStore } from '../../storage/blob-store.js';
import { renditionKey } from '../../storage/keys.js';

/** A file that viewers can have, while it may be read. */
export interface OpenedRendition {
  readonly path: string;
  readonly sizeBytes: number;
  /** Strong validator, quoted. */
  readonly etag: string;
  readonly rendition: Row<'static_rendition'>;
  release(): Promise<void>;
}

/** Undefined when the asset has no such file, or not yet. */
export type OpenRendition = (assetId: string, name: string) => Promise<OpenedRendition | undefined>;

/** Asks the database each time: a file is asked for a few times in an hour, and a deleted one must be gone at once. */
export const createRenditionOpener =
  ({ database, blobs }: { readonly database: Database; readonly blobs: BlobStore }): OpenRendition =>
  async (assetId, name) => {
    const rendition = await findReadyRendition(database.queryable, assetId, name);
    if (!rendition) return undefined;
    const blob = await blobs.openLocal(renditionKey(assetId, rendition.id)).catch((error: unknown) => {
      // Deleted since the database was asked.
      if (isKinoraError(error, 'not_found')) return undefined;
      throw error;
    });
    // A file is written once under an id of its own.
    const opened = { sizeBytes: rendition.size_bytes!, etag: `"${rendition.id}"`, rendition };
    return blob && { ...opened, path: blob.path, release: () => blob.release() };
  };
