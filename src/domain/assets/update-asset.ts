import { isDeepStrictEqual } from 'node:util';
import type { UpdateAssetBody } from '../../api/schemas/asset.js';
import type { AssetView } from '../../api/serialize/asset.js';
import type { Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { lockAssetForUpdate, updateAssetRow } from '../../db/tables/assets/asset.js';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import { viewAsset } from '../asset-view/get-asset.js';
import { recordAssetEvent } from '../asset-view/record-asset-event.js';
import type { DomainContext } from '../context.js';

type Context = Pick<DomainContext, 'clock' | 'artifactUrls'>;
type Changeable = Pick<Row<'asset'>, 'passthrough' | 'meta' | 'thumbnail_time'>;

/**
 * Changes the given fields and keeps the rest; an empty string clears a field.
 * @throws KinoraError `not_found`, `invalid_parameters` for a thumbnail time that the asset can't have
 */
export const updateAsset = (
  context: DomainContext,
  environmentId: string,
  assetId: string,
  { passthrough, meta, thumbnail_time: thumbnailTime }: UpdateAssetBody,
): Promise<AssetView> =>
  changeAsset(context, environmentId, assetId, (asset) => {
    if (thumbnailTime !== undefined) requireThumbnailTime(asset, thumbnailTime);
    return {
      passthrough: passthrough === undefined ? asset.passthrough : passthrough || null,
      meta: mergeMeta(asset.meta, meta),
      thumbnail_time: thumbnailTime ?? asset.thumbnail_time,
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
  await changeAsset(context, environmentId, assetId, (asset) => ({ ...asset, thumbnail_time: null }));
};

const MAX_TITLE = 512;

/** Writes the change and records its event only if something differs. */
const changeAsset = async (
  context: DomainContext,
  environmentId: string,
  assetId: string,
  change: (asset: Row<'asset'>) => Changeable,
): Promise<AssetView> => {
  if (!isId(assetId)) throw new KinoraError('not_found');
  return context.database.transaction(async (tx) => {
    const asset = await lockAssetForUpdate(tx, environmentId, assetId);
    if (!asset) throw new KinoraError('not_found');
    const { passthrough, meta, thumbnail_time } = change(asset);
    await saveChanges(context, tx, asset, { passthrough, meta, thumbnail_time });
    return viewAsset(context, tx, assetId);
  });
};

const saveChanges = async (
  context: Context,
  tx: Transaction,
  asset: Row<'asset'>,
  change: Partial<Changeable>,
): Promise<void> => {
  const changed = { ...asset, ...change };
  if (isDeepStrictEqual(changed, asset)) return;
  await updateAssetRow(tx, asset.id, changed);
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
  given: UpdateAssetBody['meta'] = {},
): Record<string, string> | null => {
  const kept = Object.entries({ ...current, ...given }).filter(([, value]) => value !== '');
  return kept.length > 0 ? Object.fromEntries(kept) : null;
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
