import type { Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { lockAssetForUpdate } from '../../db/tables/assets/asset.js';
import { findIngest } from '../../db/tables/assets/asset-ingest.js';
import { setMaster, updateMaster } from '../../db/tables/assets/master.js';
import { KinoraError } from '../../lib/errors.js';
import { isId, newId } from '../../lib/ids.js';
import type { MasterInput } from '../../media/plan/master-plan.js';
import type { Plan } from '../../media/plan/plan.js';
import type { SourceFacts } from '../../media/source/source-facts.js';
import { expirySeconds } from '../asset-view/artifacts.js';
import type { AssetView } from '../asset-view/asset-view.js';
import { viewAsset } from '../asset-view/get-asset.js';
import { recordAssetEvent } from '../asset-view/record-asset-event.js';
import type { DomainContext } from '../context.js';
import { queues } from '../queues.js';

export interface MasterOrder {
  readonly assetId: string;
  readonly masterId: string;
}

type Context = Pick<DomainContext, 'clock' | 'wire' | 'queue' | 'artifactUrls'>;
type MasterRow = Pick<Row<'asset'>, 'id' | 'master_id' | 'resolution_tier'>;

/**
 * Grants or removes access to the master of an asset. If the asset is not ready yet, the master is
 * made when it is.
 * @throws KinoraError `not_found`, `invalid_parameters` for an errored asset
 */
export const setMasterAccess = (
  context: DomainContext,
  environmentId: string,
  assetId: string,
  access: 'none' | 'temporary',
): Promise<AssetView> => {
  if (!isId(assetId)) throw new KinoraError('not_found');
  return context.database.transaction(async (tx) => {
    const asset = await lockAssetForUpdate(tx, environmentId, assetId);
    if (!asset) throw new KinoraError('not_found');
    if (asset.status === 'errored')
      throw new KinoraError('invalid_parameters', { messages: ['Asset is in an errored state'] });
    if (access === 'none') await endMaster(context, tx, asset);
    else if (asset.status === 'preparing') await setMaster(tx, assetId, { ...NO_MASTER, master_access: 'temporary' });
    // A failed master may be retried.
    else if (asset.master_access === 'none' || asset.master_status === 'errored')
      await orderMaster(context, tx, assetId);
    return viewAsset(context, tx, assetId);
  });
};

/** What the job needs to know about the master that it makes. */
export interface MasterWork extends MasterInput {
  readonly status: 'preparing' | 'ready' | 'errored';
}

/** Undefined when the master is no longer wanted. */
export const findMasterWork = async (
  { database }: Pick<DomainContext, 'database'>,
  { assetId, masterId }: MasterOrder,
): Promise<MasterWork | undefined> => {
  const row = await findIngest(database.queryable, assetId);
  if (row?.asset.master_id !== masterId || !row.asset.master_status || !row.media.plan || !row.media.facts)
    return undefined;
  return {
    status: row.asset.master_status,
    plan: row.media.plan as Plan,
    facts: row.media.facts as SourceFacts,
    isCut: row.asset.is_test || row.media.clip !== null,
  };
};

const NO_MASTER = { master_status: null, master_id: null, master_ready_at: null } as const;

/** Orders the master of a ready asset. */
export const orderMaster = async (context: Context, tx: Transaction, assetId: string): Promise<void> => {
  const masterId = newId();
  await setMaster(tx, assetId, {
    master_access: 'temporary',
    master_status: 'preparing',
    master_id: masterId,
    master_ready_at: null,
  });
  await context.queue.enqueue(queues.makeMaster, { assetId, masterId }, {}, tx);
  await recordAssetEvent(context, tx, 'video.asset.master.preparing', assetId);
};

/** Stops the work on a master and its timer; removes its file in the background. */
export const cancelMaster = async (context: Pick<DomainContext, 'queue'>, tx: Transaction, asset: MasterRow) => {
  const { id: assetId, master_id: masterId } = asset;
  if (masterId === null) return;
  await context.queue.cancel(queues.makeMaster, masterId, tx);
  await context.queue.cancel(queues.endMaster, masterId, tx);
  await context.queue.enqueue(queues.endMaster, { assetId, masterId }, {}, tx);
};

const endMaster = async (context: Context, tx: Transaction, asset: Row<'asset'>): Promise<void> => {
  if (asset.master_access === 'none') return;
  await setMaster(tx, asset.id, { ...NO_MASTER, master_access: 'none' });
  await cancelMaster(context, tx, asset);
  // An asset that is not ready has no master, and neither has one whose master failed.
  if (asset.master_status === 'preparing' || asset.master_status === 'ready')
    await recordAssetEvent(context, tx, 'video.asset.master.deleted', asset.id);
};

/** Called when the file is stored: its day begins. False when it is no longer wanted. */
export const completeMaster = (context: DomainContext, { assetId, masterId }: MasterOrder): Promise<boolean> =>
  context.database.transaction(async (tx) => {
    const readyAt = context.clock.now();
    const change = { master_status: 'ready', master_ready_at: readyAt } as const;
    if (!(await updateMaster(tx, assetId, { masterId, from: 'preparing' }, change))) return false;
    const runAt = new Date(expirySeconds(readyAt) * 1000);
    await context.queue.enqueue(queues.endMaster, { assetId, masterId }, { runAt }, tx);
    await recordAssetEvent(context, tx, 'video.asset.master.ready', assetId);
    return true;
  });

export const failMaster = (context: DomainContext, { assetId, masterId }: MasterOrder): Promise<void> =>
  context.database.transaction(async (tx) => {
    if (await updateMaster(tx, assetId, { masterId, from: 'preparing' }, { master_status: 'errored' }))
      await recordAssetEvent(context, tx, 'video.asset.master.errored', assetId);
  });

/** Runs when a master's day has passed; it is not an error if access was removed before. */
export const expireMaster = (context: DomainContext, { assetId, masterId }: MasterOrder): Promise<void> =>
  context.database.transaction(async (tx) => {
    const change = { ...NO_MASTER, master_access: 'none' } as const;
    if (await updateMaster(tx, assetId, { masterId, from: 'ready' }, change))
      await recordAssetEvent(context, tx, 'video.asset.master.deleted', assetId);
  });
