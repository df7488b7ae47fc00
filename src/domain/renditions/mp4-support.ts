import type { Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { lockAssetForUpdate } from '../../db/tables/assets/asset.js';
import {
  insertStaticRendition,
  listStaticRenditions,
  saveMp4Support,
} from '../../db/tables/assets/static-rendition.js';
import { findPlan } from '../../db/tables/playback/playable.js';
import { invalidParameters, KinoraError } from '../../lib/errors.js';
import { isId, newId } from '../../lib/ids.js';
import type { Plan } from '../../media/plan/plan.js';
import { planMp4Support, renditionSource } from '../../media/plan/static-rendition.js';
import type { AssetView } from '../asset-view/asset-view.js';
import { viewAsset } from '../asset-view/get-asset.js';
import { recordAssetEvent } from '../asset-view/record-asset-event.js';
import type { DomainContext } from '../context.js';
import type { Mp4Support } from '../requests/asset-request.js';
import { dropRendition, orderFile } from './static-renditions.js';

type Context = Pick<DomainContext, 'clock' | 'wire' | 'queue' | 'artifactUrls'>;

/**
 * Changes which files `mp4_support` provides; files that the old and the new value share are kept.
 * @throws KinoraError `not_found`, `invalid_parameters`
 */
export const updateMp4Support = async (
  context: DomainContext,
  environmentId: string,
  assetId: string,
  support: Mp4Support,
): Promise<AssetView> => {
  if (!isId(assetId)) throw new KinoraError('not_found');
  return context.database.transaction(async (tx) => {
    const asset = await lockAssetForUpdate(tx, environmentId, assetId);
    if (!asset) throw new KinoraError('not_found');
    if (asset.status === 'errored') throw invalidParameters('Asset is in an errored state');
    const others = (await listStaticRenditions(tx, [assetId])).filter(({ resolution }) => resolution !== null);
    if (support !== 'none' && others.length > 0)
      throw invalidParameters('mp4_support and static_renditions cannot be used together');
    if (support !== asset.mp4_support) await change(context, tx, asset, support);
    return viewAsset(context, tx, assetId);
  });
};

const change = async (context: Context, tx: Transaction, asset: Row<'asset'>, support: Mp4Support): Promise<void> => {
  const { id: assetId, status } = asset;
  if (support === 'none') {
    for (const file of await listStaticRenditions(tx, [assetId])) await dropRendition(context, tx, file);
    await saveMp4Support(tx, assetId, { mp4_support: support, static_renditions_status: null });
    await recordAssetEvent(context, tx, 'video.asset.static_renditions.deleted', assetId);
    return;
  }
  await saveMp4Support(tx, assetId, { mp4_support: support, static_renditions_status: 'preparing' });
  if (status === 'ready') await orderMp4Files(context, tx, { id: assetId, mp4_support: support });
};

/**
 * Orders the `mp4_support` files of a ready asset, in the transaction that makes it ready or
 * changes the value.
 */
export const orderMp4Files = async (
  context: Context,
  tx: Transaction,
  { id: assetId, mp4_support: support }: Pick<Row<'asset'>, 'id' | 'mp4_support'>,
): Promise<void> => {
  await recordAssetEvent(context, tx, 'video.asset.static_renditions.preparing', assetId);
  const plan = (await findPlan(tx, assetId)) as Plan | undefined;
  const files = plan && planMp4Support(support as Mp4Support, renditionSource(plan));
  const wantedFiles = files ?? [];
  const present = await listStaticRenditions(tx, [assetId]);
  for (const rendition of present) {
    // A failed file is retried.
    const isKept = rendition.status !== 'errored' && wantedFiles.some(({ name }) => name === rendition.name);
    if (!isKept) await dropRendition(context, tx, rendition);
  }
  const existing = await listStaticRenditions(tx, [assetId]);
  for (const { name, ext } of wantedFiles) {
    if (existing.some((rendition) => rendition.name === name)) continue;
    const row = { id: newId(), asset_id: assetId, created_at: context.clock.now(), name, ext, error: null };
    await orderFile(context, tx, await insertStaticRendition(tx, row));
  }
  if (!files) await endMp4Support(context, tx, assetId, 'errored');
  else await settleMp4Support(context, tx, assetId);
};

/**
 * Reports the state of the files as a whole once all of them have ended. The asset must be locked.
 */
export const settleMp4Support = async (context: Context, tx: Transaction, assetId: string): Promise<void> => {
  const statuses = (await listStaticRenditions(tx, [assetId])).map(({ status }) => status);
  if (statuses.includes('preparing')) return;
  await endMp4Support(context, tx, assetId, statuses.includes('errored') ? 'errored' : 'ready');
};

export const endMp4Support = async (
  context: Context,
  tx: Transaction,
  assetId: string,
  status: 'ready' | 'errored',
): Promise<void> => {
  await saveMp4Support(tx, assetId, { static_renditions_status: status });
  await recordAssetEvent(context, tx, `video.asset.static_renditions.${status}`, assetId);
};
