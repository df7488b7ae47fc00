import type { Row } from '../../db/schema.js';
import type { DomainContext } from '../../domain/context.js';
import type { Artifact } from '../../domain/signing/artifact-urls.js';
import type { RobotsJobView } from '../api/serialize.js';

type Job = Row<'robots_job'>;

/** How long the URLs of results are valid after the end of the job. */
const RESULT_LIFETIME_MS = 7 * 24 * 3600_000;

/** A file that a job has written. */
export const resultArtifact = (job: Pick<Job, 'id' | 'asset_id'>, file: string): Artifact => ({
  kind: 'robots',
  ownerId: job.asset_id,
  version: job.id,
  file: `${job.id}.${file}`,
});

export const viewRobotsJob = (
  { artifactUrls, apiUrl }: Pick<DomainContext, 'artifactUrls' | 'apiUrl'>,
  job: Job,
  asset: Row<'asset'> | undefined,
): RobotsJobView => {
  const expires = Math.ceil((job.updated_at.getTime() + RESULT_LIFETIME_MS) / 1000);
  const urls = Object.entries(job.files ?? {}).map(([output, file]) => [
    output,
    artifactUrls.urlOf(resultArtifact(job, file), expires),
  ]);
  return { job, urls: Object.fromEntries(urls), apiUrl: apiUrl(), asset };
};
