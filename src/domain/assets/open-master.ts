import { findAssetById } from '../../db/tables/assets/asset.js';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import { type DownloadContent, openDownload } from '../../storage/blob-download.js';
import type { BlobStore } from '../../storage/blob-store.js';
import { masterKey } from '../../storage/keys.js';
import { masterArtifact } from '../asset-view/artifacts.js';
import type { DomainContext } from '../context.js';

export interface OpenedFile extends DownloadContent {
  readonly sizeBytes: number;
  /** A strong validator, including quotation marks. */
  readonly etag: string;
}

export interface MasterDownload {
  readonly assetId: string;
  readonly file: string;
  readonly expires: unknown;
  readonly signature: unknown;
}

/**
 * Opens the file of a signed master URL.
 * @throws KinoraError `not_found` (no such asset), `forbidden` (not a URL of this master, or
 * expired)
 */
export type OpenMaster = (download: MasterDownload) => Promise<OpenedFile>;

export const createMasterOpener =
  ({
    database,
    clock,
    artifactUrls,
    blobs,
  }: Pick<DomainContext, 'database' | 'clock' | 'artifactUrls'> & { readonly blobs: BlobStore }): OpenMaster =>
  async ({ assetId, file, expires, signature }) => {
    const asset = isId(assetId) ? await findAssetById(database.queryable, assetId) : undefined;
    if (!asset) throw new KinoraError('not_found');
    const artifact = masterArtifact(asset);
    if (!artifact || artifact.file !== file) throw new KinoraError('forbidden', { messages: ['Signature is invalid'] });
    artifactUrls.check(artifact, expires, signature, clock.now());
    const key = masterKey(assetId, artifact.version);
    const content = await openDownload(blobs, key);
    const info = await blobs.stat(key);
    // Written once under a unique ID.
    if (content && info) return { ...content, sizeBytes: info.sizeBytes, etag: `"${artifact.version}"` };
    await content?.release();
    throw new KinoraError('not_found');
  };
