import type { Transaction } from '../../db/database.js';
import { findAsset } from '../../db/tables/assets/asset.js';
import { listAssetInputs } from '../../db/tables/assets/asset-input.js';
import { readAssetView } from '../../db/tables/assets/asset-reads.js';
import { type AssetViewRow, findAssetView } from '../../db/tables/assets/asset-view.js';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import type { DomainContext } from '../context.js';
import { viewMaster, viewShots } from './artifacts.js';
import type { AssetView, InputRecord } from './asset-view.js';

/** A stored asset, as responses and events represent it. */
export const toAssetView = (
  context: Pick<DomainContext, 'clock' | 'artifactUrls'>,
  { asset, playbackIds, tracks, renditions, shots }: AssetViewRow,
): AssetView => ({
  asset,
  playbackIds,
  tracks,
  renditions,
  master: viewMaster(context, asset),
  shots: shots && viewShots(context, shots),
});

/** The current view, within the transaction, of an asset that is known to exist. */
export const viewAsset = async (
  context: Pick<DomainContext, 'clock' | 'artifactUrls'>,
  tx: Transaction,
  assetId: string,
): Promise<AssetView> => toAssetView(context, (await findAssetView(tx, assetId))!);

/**
 * @throws KinoraError `not_found` for unknown and malformed IDs and for those of other environments
 */
export const getAsset = async (context: DomainContext, environmentId: string, assetId: string): Promise<AssetView> => {
  const row = isId(assetId) ? await readAssetView(context.database, environmentId, assetId) : undefined;
  if (!row) throw new KinoraError('not_found');
  return toAssetView(context, row);
};

/**
 * The requested settings and the probe results, one entry per input.
 * @throws KinoraError `not_found`
 */
export const getInputInfo = async (
  context: DomainContext,
  environmentId: string,
  assetId: string,
): Promise<InputRecord[]> => {
  const db = context.database.queryable;
  const asset = isId(assetId) ? await findAsset(db, environmentId, assetId) : undefined;
  if (!asset) throw new KinoraError('not_found');
  return listAssetInputs(db, assetId);
};
