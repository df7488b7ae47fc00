import { lockAssetForUpdate } from '../../db/tables/asset.js';
import { findShots } from '../../db/tables/shots.js';
import { orderShots } from '../../domain/assets/shots.js';
import { KinoraError } from '../../lib/errors.js';
import type { WorkflowEnd, WorkflowRun } from './workflow.js';

type Wait = Extract<WorkflowEnd, { waitUntil: unknown }>;

/**
 * Where the shots of the asset begin, in seconds. Without shots they are ordered, and the job waits.
 * @throws KinoraError `invalid_input` when they can't be found
 */
export const awaitShots = async ({
  context,
  asset,
}: WorkflowRun): Promise<{ readonly starts: readonly number[] } | Wait> => {
  const shots = await context.database.transaction(async (tx) => {
    const locked = await lockAssetForUpdate(tx, asset.environment_id, asset.id);
    const known = await findShots(tx, asset.id);
    if (!locked || (known && known.status !== 'deleted')) return known;
    return orderShots(context, tx, locked);
  });
  if (shots?.status === 'completed') return { starts: shots.start_times ?? [0] };
  if (shots?.status !== 'pending')
    throw new KinoraError('invalid_input', { messages: ['The shots of the asset could not be found.'] });
  return { waitUntil: async (tx) => (await findShots(tx, asset.id))?.status !== 'pending' };
};
