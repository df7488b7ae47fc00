import type { DomainContext } from '../../domain/context.js';
import { KinoraError } from '../../lib/errors.js';
import { isPrefixedId } from '../../lib/ids.js';
import { type BlobStore, readBlob } from '../../storage/blob-store.js';
import { findRobotsJobById } from '../tables/robots-job.js';
import { resultKey } from './job-files.js';
import { resultArtifact } from './view-job.js';

export interface ResultDownload {
  readonly assetId: string;
  /** `<job id>.<kind>` */
  readonly file: string;
  readonly expires: unknown;
  readonly signature: unknown;
}

const TYPES: Readonly<Record<string, string>> = {
  vtt: 'text/vtt; charset=utf-8',
  srt: 'application/x-subrip; charset=utf-8',
  json: 'application/json; charset=utf-8',
};

export interface ResultSources extends Pick<DomainContext, 'database' | 'clock' | 'artifactUrls'> {
  readonly blobs: BlobStore;
}

/**
 * Opens the file of a signed result URL.
 * @throws KinoraError `not_found`, `forbidden` (not a URL of this job, or expired)
 */
export const openResult = async (
  { database, clock, artifactUrls, blobs }: ResultSources,
  { assetId, file, expires, signature }: ResultDownload,
): Promise<{ readonly bytes: Buffer; readonly contentType: string; readonly name: string }> => {
  const [jobId = '', kind = ''] = file.split('.');
  const job = isPrefixedId('rjob', jobId) ? await findRobotsJobById(database.queryable, jobId) : undefined;
  const isThere = job?.asset_id === assetId && Object.values(job.files ?? {}).includes(kind);
  const contentType = TYPES[kind];
  if (!job || !isThere || contentType === undefined) throw new KinoraError('not_found');
  artifactUrls.check(resultArtifact(job, kind), expires, signature, clock.now());
  const bytes = await readBlob(blobs, resultKey(assetId, jobId, kind));
  if (!bytes) throw new KinoraError('not_found');
  return { bytes, contentType, name: `captions.${kind}` };
};
