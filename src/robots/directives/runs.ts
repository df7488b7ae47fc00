import type { Transaction } from '../../db/database.js';
import type { Row, RunNode } from '../../db/schema.js';
import { lockAssetForUpdate } from '../../db/tables/assets/asset.js';
import type { DomainContext } from '../../domain/context.js';
import type { PageQuery } from '../../domain/requests/list-query.js';
import { KinoraError } from '../../lib/errors.js';
import { isId, isPrefixedId, newPrefixedId, newUuid } from '../../lib/ids.js';
import type { Binding, DirectiveResource } from '../api/requests.js';
import { recordRunEvent } from '../jobs/robots-events.js';
import { robotsQueues } from '../queues.js';
import { findDirective } from '../tables/directive.js';
import { countRuns, findRun, insertRun, listRuns as listRunRows } from '../tables/directive-run.js';

type Run = Row<'directive_run'>;
type Context = Pick<DomainContext, 'clock' | 'queue'>;

/**
 * Starts a run; it waits while the asset is preparing.
 * @throws KinoraError `not_found`, `invalid_parameters` when the asset is errored
 */
export const createRun = (
  context: DomainContext,
  environmentId: string,
  directive: Row<'directive'>,
  assetId: string,
): Promise<Run> =>
  context.database.transaction(async (tx) => {
    const asset = isId(assetId) ? await lockAssetForUpdate(tx, environmentId, assetId) : undefined;
    if (!asset) throw new KinoraError('not_found', { messages: ['Asset not found'] });
    if (asset.status === 'errored')
      throw new KinoraError('invalid_parameters', { messages: ['Asset is in an errored state'] });
    return startRun(context, tx, directive, assetId);
  });

const startRun = async (
  context: Context,
  tx: Transaction,
  directive: Row<'directive'>,
  assetId: string,
): Promise<Run> => {
  const run = await insertRun(tx, {
    id: newPrefixedId('drvrun'),
    internal_id: newUuid(),
    directive_id: directive.id,
    environment_id: directive.environment_id,
    asset_id: assetId,
    started_at: context.clock.now(),
    resources: (directive.resources as DirectiveResource[]).map(({ reference_id }) => ({
      reference_id,
      state: 'waiting',
    })),
    nodes: (directive.workflows as Binding[]).map(
      ({ reference_id, workflow }): RunNode => ({ reference_id, workflow, state: 'waiting_for_resources' }),
    ),
  });
  await recordRunEvent(context, tx, 'created', run);
  await context.queue.enqueue(robotsQueues.advanceRun, { runId: run.id }, {}, tx);
  return run;
};

/**
 * Starts one run of each directive that the asset was created with, except those deleted in the
 * meantime.
 */
export const startDirectives = async (context: Context, tx: Transaction, asset: Row<'asset'>): Promise<void> => {
  for (const id of new Set(asset.directives ?? [])) {
    const directive = await findDirective(tx, asset.environment_id, id);
    if (directive) await startRun(context, tx, directive, asset.id);
  }
};

/** Newest first. */
export const listRuns = async (
  { database }: DomainContext,
  directiveId: string,
  page: PageQuery,
): Promise<{ runs: Run[]; total: number }> => ({
  runs: await listRunRows(database.queryable, directiveId, page),
  total: await countRuns(database.queryable, directiveId),
});

/** @throws KinoraError `not_found` */
export const getRun = async ({ database }: DomainContext, directiveId: string, runId: string): Promise<Run> => {
  const run = isPrefixedId('drvrun', runId) ? await findRun(database.queryable, directiveId, runId) : undefined;
  if (!run) throw new KinoraError('not_found', { messages: ['Run not found'] });
  return run;
};
