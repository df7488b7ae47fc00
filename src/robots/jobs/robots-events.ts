import type { Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { findAssetById } from '../../db/tables/assets/asset.js';
import type { DomainContext } from '../../domain/context.js';
import { recordEvent } from '../../domain/events/record-event.js';
import { serializeRobotsJobEvent, serializeRunEvent } from '../api/serialize.js';
import { viewRobotsJob } from './view-job.js';

type Context = Pick<DomainContext, 'clock' | 'artifactUrls' | 'apiUrl'>;

/** Records the event for a job's new status. */
export const recordJobEvent = async (context: Context, tx: Transaction, job: Row<'robots_job'>): Promise<void> => {
  const type = `robots.job.${job.workflow.replaceAll('-', '_')}.${job.status}` as const;
  const view = viewRobotsJob(context, job, await findAssetById(tx, job.asset_id));
  await recordEvent(context, tx, {
    environmentId: job.environment_id,
    type,
    object: { type: 'job', id: job.id },
    data: serializeRobotsJobEvent(type, view),
  });
};

export const recordRunEvent = async (
  context: Pick<DomainContext, 'clock'>,
  tx: Transaction,
  happened: 'created' | 'completed' | 'partial' | 'errored',
  run: Row<'directive_run'>,
): Promise<void> => {
  const type = `robots.directive_run.${happened}` as const;
  await recordEvent(context, tx, {
    environmentId: run.environment_id,
    type,
    object: { type: 'directive_run', id: run.id },
    data: serializeRunEvent(type, run),
  });
};
