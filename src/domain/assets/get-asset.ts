import type { AssetView, InputRecord } from '../../api/serialize.js';
import type { Queryable } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { findAsset } from '../../db/tables/asset.js';
import { listAssetInputs } from '../../db/tables/asset-input.js';
import { listPlaybackIds } from '../../db/tables/playback-id.js';
import { listShots } from '../../db/tables/shots.js';
import { listStaticRenditions } from '../../db/tables/static-rendition.js';
import { listTracks } from '../../db/tables/track.js';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import type { DomainContext } from '../context.js';
import { viewMaster, viewShots } from './artifacts.js';

/** @throws KinoraError `not_found` for unknown, malformed and other environments' ids alike */
const getAssetRow = async (db: Queryable, environmentId: string, assetId: string): Promise<Row<'asset'>> => {
  const asset = isId(assetId) ? await findAsset(db, environmentId, assetId) : undefined;
  if (!asset) throw new KinoraError('not_found');
  return asset;
};

/** What belongs to each asset, fetched for all of them at once. */
export const viewAssets = async (
  context: Pick<DomainContext, 'clock' | 'artifactUrls'>,
  db: Queryable,
  assets: readonly Row<'asset'>[],
): Promise<AssetView[]> => {
  const ids = assets.map(({ id }) => id);
  const playbackIds = await listPlaybackIds(db, ids);
  // Only the answers about ready assets show tracks.
  const ready = assets.filter(({ status }) => status === 'ready');
  const tracks = await listTracks(
    db,
    ready.map(({ id }) => id),
  );
  const renditions = await listStaticRenditions(db, ids);
  const shots = await listShots(db, ids);
  return assets.map((asset) => ({
    asset,
    playbackIds: playbackIds.filter(({ asset_id }) => asset_id === asset.id),
    tracks: tracks.filter(({ asset_id }) => asset_id === asset.id),
    renditions: renditions.filter(({ asset_id }) => asset_id === asset.id),
    master: viewMaster(context, asset),
    shots: shots.filter(({ asset_id }) => asset_id === asset.id).map((row) => viewShots(context, row))[0],
  }));
};

/** @throws KinoraError `not_found` */
export const getAsset = async (context: DomainContext, environmentId: string, assetId: string): Promise<AssetView> => {
  const db = context.database.queryable;
  const [view] = await viewAssets(context, db, [await getAssetRow(db, environmentId, assetId)]);
  return view!;
};

/** What was asked for and what probing found, one entry per input. @throws KinoraError `not_found` */
export const getInputInfo = async (
  context: DomainContext,
  environmentId: string,
  assetId: string,
): Promise<InputRecord[]> => {
  const db = context.database.queryable;
  await getAssetRow(db, environmentId, assetId);
  return listAssetInputs(db, assetId);
};
