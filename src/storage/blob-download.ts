import type { Readable } from 'node:stream';
import { isKinoraError } from '../lib/errors.js';
import type { BlobStore } from './blob-store.js';

/**
 * A blob that is sent to a client: a file of this machine, or elsewhere a stream, without a copy.
 */
export interface DownloadContent {
  readonly path?: string;
  /** `end` is exclusive. Undefined when the blob was deleted. */
  readonly stream?: (range: { readonly start: number; readonly end: number }) => Promise<Readable | undefined>;
  release(): Promise<void>;
}

/** Undefined when the blob does not exist. */
export const openDownload = async (
  blobs: Pick<BlobStore, 'isLocal' | 'openLocal' | 'read' | 'stat'>,
  key: string,
): Promise<DownloadContent | undefined> => {
  if (!blobs.isLocal) {
    if (!(await blobs.stat(key))) return undefined;
    return { stream: (range) => blobs.read(key, range), release: async () => {} };
  }
  const blob = await blobs.openLocal(key).catch((error: unknown) => {
    if (isKinoraError(error, 'not_found')) return undefined;
    throw error;
  });
  return blob && { path: blob.path, release: () => blob.release() };
};
