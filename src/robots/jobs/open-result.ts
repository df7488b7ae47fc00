import type { DomainContext } from '../../domain/context.js';
import { KinoraError } from '../../lib/errors.js';
import { isRobotsId } from '../../lib/ids.js';
import { type BlobStore, readBlob } from '../../storage/blob-store.js';
import { robotsFileKey } from '../../storage/keys.js';
import { findRobotsJobById } from '../tables/robots-job.js';
import { resultArtifact } from './view-job.js';

export interface ResultDownload {
  readonly assetId: string;
  /** `<job id>.<kind>` */
  readonly file: string;
  readonly expires: unknown;
  readonly signature: unknown;
}

/**
 * Opens the file of a signed result URL.
 * @throws KinoraError `not_found`, `forbidden` (not a URL of this job, or expired)
 */
export type OpenResult = (
  download: ResultDownload,
) => Promise<{ readonly bytes: Buffer; readonly contentType: string; readonly name: string }>;

const TYPES: Readonly<Record<string, string>> = {
  vtt: 'text/vtt; charset=utf-8',
  srt: 'application/x-subrip; charset=utf-8',
  json: 'application/json; charset=utf-8',
};

export const createResultOpener =
  ({
    database,
    clock,
    artifactUrls,
    blobs,
  }: Pick<DomainContext, 'database' | 'clock' | 'artifactUrls'> & { readonly blobs: BlobStore }): OpenResult =>
  async ({ assetId, file, expires, signature }) => {
    const [jobId = '', kind = ''] = file.split('.');
    const job = isRobotsId('rjob', jobId) ? await findRobotsJobById(database.queryable, jobId) : undefined;
    const isThere = job?.asset_id === assetId && Object.values(job.files ?? {}).includes(kind);
    const contentType = TYPES[kind];
    if (!job || !isThere || contentType === undefined) throw new KinoraError('not_found');
    artifactUrls.check(resultArtifact(job, kind), expires, signature, clock.now());
    const bytes = await readBlob(blobs, robotsFileKey(assetId, jobId, kind));
    if (!bytes) throw new KinoraError('not_found');
    return { bytes, contentType, name: `captions.${kind}` };
  };
