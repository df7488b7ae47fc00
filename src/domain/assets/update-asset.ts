import { isDeepStrictEqual } from 'node:util';
import type { Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { lockAssetForUpdate, updateAssetRow } from '../../db/tables/assets/asset.js';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import type { AssetView } from '../asset-view/asset-view.js';
import { viewAsset } from '../asset-view/get-asset.js';
import { recordAssetEvent } from '../asset-view/record-asset-event.js';
import type { DomainContext } from '../context.js';
import { type AssetUpdate, ownerColumns } from '../requests/asset-request.js';

type Context = Pick<DomainContext, 'clock' | 'wire' | 'artifactUrls'>;
type Change = Parameters<typeof updateAssetRow>[2];

/**
 * Changes the given fields and keeps the rest; an empty string clears a field.
 * @throws KinoraError `not_found`, `invalid_parameters` for a thumbnail time that the asset can't
 * have
 */
export const updateAsset = (
  context: DomainContext,
  environmentId: string,
  assetId: string,
  update: AssetUpdate,
): Promise<AssetView> =>
  changeAsset(context, environmentId, assetId, (asset) => {
    if (update.thumbnail_time !== undefined) requireThumbnailTime(asset, update.thumbnail_time);
    return {
      ...ownerColumns(update),
      meta: mergeMeta(asset.meta, update.meta),
      thumbnail_time: update.thumbnail_time ?? asset.thumbnail_time,
    };
  });

/**
 * Returns to the default poster; does nothing when no time was set.
 * @throws KinoraError `not_found`
 */
export const deleteThumbnailTime = async (
  context: DomainContext,
  environmentId: string,
  assetId: string,
): Promise<void> => {
  await changeAsset(context, environmentId, assetId, () => ({ thumbnail_time: null }));
};

const MAX_TITLE = 512;

/** Writes the change and records its event only if something differs. */
const changeAsset = async (
  context: DomainContext,
  environmentId: string,
  assetId: string,
  changeOf: (asset: Row<'asset'>) => Change,
): Promise<AssetView> => {
  if (!isId(assetId)) throw new KinoraError('not_found');
  return context.database.transaction(async (tx) => {
    const asset = await lockAssetForUpdate(tx, environmentId, assetId);
    if (!asset) throw new KinoraError('not_found');
    await saveChanges(context, tx, asset, changeOf(asset));
    return viewAsset(context, tx, assetId);
  });
};

const saveChanges = async (context: Context, tx: Transaction, asset: Row<'asset'>, change: Change): Promise<void> => {
  if (isDeepStrictEqual({ ...asset, ...change }, asset)) return;
  await updateAssetRow(tx, asset.id, change);
  await recordAssetEvent(context, tx, 'video.asset.updated', asset.id);
};

const requireThumbnailTime = (asset: Row<'asset'>, seconds: number): void => {
  const { status, resolution_tier: tier, duration_seconds: duration } = asset;
  const complaint =
    status !== 'ready' || tier === 'audio-only' || duration === null
      ? 'can only be set on a ready asset with video'
      : seconds < 0 || seconds > duration
        ? 'must be between 0 and the asset duration'
        : undefined;
  if (complaint) throw new KinoraError('invalid_parameters', { messages: [`thumbnail_time ${complaint}`] });
};

const mergeMeta = (
  current: Readonly<Record<string, string>> | null,
  change: AssetUpdate['meta'] = {},
): Record<string, string> | null => {
  const entries = Object.entries({ ...current, ...change }).filter(([, value]) => value !== '');
  return entries.length > 0 ? Object.fromEntries(entries) : null;
};

/** Sets the time in a transaction that has locked the asset. */
export const writeThumbnailTime = (
  context: Context,
  tx: Transaction,
  asset: Row<'asset'>,
  seconds: number,
): Promise<void> =>
  saveChanges(context, tx, asset, { thumbnail_time: Math.min(seconds, asset.duration_seconds ?? seconds) });

/** Sets the title in the same way, cut to the maximum length. */
export const writeTitle = (context: Context, tx: Transaction, asset: Row<'asset'>, title: string): Promise<void> =>
  saveChanges(context, tx, asset, { meta: { ...asset.meta, title: [...title].slice(0, MAX_TITLE).join('') } });
