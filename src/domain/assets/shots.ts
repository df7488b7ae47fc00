import type { Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { lockAssetForUpdate } from '../../db/tables/assets/asset.js';
import { findShots, putShots, updatePendingShots } from '../../db/tables/assets/shots.js';
import { invalidParameters, KinoraError } from '../../lib/errors.js';
import { isId, newId } from '../../lib/ids.js';
import { viewShots } from '../asset-view/artifacts.js';
import type { ShotsView } from '../asset-view/asset-view.js';
import type { DomainContext } from '../context.js';
import type { EventType } from '../events/event-types.js';
import { recordEvent } from '../events/record-event.js';
import { queues } from '../queues.js';

export interface ShotsOrder {
  readonly assetId: string;
  readonly orderId: string;
}

type Context = Pick<DomainContext, 'clock' | 'wire' | 'queue' | 'artifactUrls'>;
type AssetRow = Pick<Row<'asset'>, 'id' | 'environment_id' | 'resolution_tier' | 'passthrough' | 'meta'>;

/**
 * Orders the shots of a ready asset.
 * @throws KinoraError `not_found`, `invalid_parameters` when it is not ready, or they were ordered
 * before
 */
export const createShots = (context: DomainContext, environmentId: string, assetId: string): Promise<ShotsView> =>
  withAsset(context, environmentId, assetId, async (tx, asset, shots) => {
    if (asset.status !== 'ready') throw invalidParameters('Asset is not ready');
    if (shots?.status === 'pending' || shots?.status === 'completed')
      throw invalidParameters('shots generation has already been requested');
    return viewShots(context, await orderShots(context, tx, asset));
  });

/**
 * Signed URLs are new each time.
 * @throws KinoraError `not_found`
 */
export const getShots = (context: DomainContext, environmentId: string, assetId: string): Promise<ShotsView> =>
  withAsset(context, environmentId, assetId, async (_tx, _asset, shots) => {
    if (!shots) throw new KinoraError('not_found');
    return viewShots(context, shots);
  });

/**
 * Stops a running search.
 * @throws KinoraError `not_found`
 */
export const deleteShots = (context: DomainContext, environmentId: string, assetId: string): Promise<void> =>
  withAsset(context, environmentId, assetId, async (tx, asset, shots) => {
    if (!shots || shots.status === 'deleted') throw new KinoraError('not_found');
    const deleted: Row<'shots'> = { ...shots, status: 'deleted', start_times: null, error: null };
    await putShots(tx, { ...deleted, start_times: null, error: null });
    await context.queue.cancel(queues.findShots, shots.order_id, tx);
    await recordShotsEvent(context, tx, 'video.asset.shots.deleted', asset, deleted);
    await context.assetHook?.onChanged(context, tx, asset.id);
  });

const withAsset = <T>(
  context: DomainContext,
  environmentId: string,
  assetId: string,
  use: (tx: Transaction, asset: Row<'asset'>, shots: Row<'shots'> | undefined) => Promise<T>,
): Promise<T> =>
  context.database.transaction(async (tx) => {
    const asset = isId(assetId) ? await lockAssetForUpdate(tx, environmentId, assetId) : undefined;
    if (!asset) throw new KinoraError('not_found');
    return use(tx, asset, await findShots(tx, assetId));
  });

/** Starts the search in a ready asset; audio-only assets have no shots. */
export const orderShots = async (context: Context, tx: Transaction, asset: AssetRow): Promise<Row<'shots'>> => {
  const orderId = newId();
  const row = {
    asset_id: asset.id,
    order_id: orderId,
    created_at: context.clock.now(),
    start_times: null,
    error: null,
  };
  const pending = { ...row, status: 'pending' } as const;
  await recordShotsEvent(context, tx, 'video.asset.shots.created', asset, pending);
  if (asset.resolution_tier === 'audio-only') {
    const skipped = { ...row, status: 'skipped' } as const;
    await putShots(tx, skipped);
    await recordShotsEvent(context, tx, 'video.asset.shots.skipped', asset, skipped);
    return skipped;
  }
  await putShots(tx, pending);
  await context.queue.enqueue(queues.findShots, { assetId: asset.id, orderId }, {}, tx);
  return pending;
};

/** False when they are no longer wanted. */
export const completeShots = (
  context: DomainContext,
  order: ShotsOrder,
  startTimes: readonly number[],
): Promise<boolean> =>
  settle(context, order, 'ready', { status: 'completed', start_times: JSON.stringify(startTimes) });

export const failShots = (context: DomainContext, order: ShotsOrder): Promise<boolean> => {
  const error = { type: 'internal_error', messages: ['The shots could not be detected.'] };
  return settle(context, order, 'errored', { status: 'errored', error: JSON.stringify(error) });
};

const settle = (
  context: DomainContext,
  order: ShotsOrder,
  event: 'ready' | 'errored',
  change: { status: 'completed' | 'errored'; start_times?: string; error?: string },
): Promise<boolean> =>
  context.database.transaction(async (tx) => {
    const updated = await updatePendingShots(tx, order, { start_times: null, error: null, ...change });
    if (!updated) return false;
    await recordShotsEvent(context, tx, `video.asset.shots.${event}`, updated.asset, updated.shots);
    await context.assetHook?.onChanged(context, tx, updated.asset.id);
    return true;
  });

const recordShotsEvent = (
  context: Pick<DomainContext, 'clock' | 'wire' | 'artifactUrls'>,
  tx: Transaction,
  type: EventType,
  asset: Omit<AssetRow, 'resolution_tier'>,
  shots: Row<'shots'>,
): Promise<void> =>
  recordEvent(context, tx, {
    environmentId: asset.environment_id,
    type,
    object: { type: 'asset', id: asset.id },
    data: context.wire.shotsEvent(viewShots(context, shots), asset),
  });
