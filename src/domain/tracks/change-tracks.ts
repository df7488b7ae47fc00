import type { Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { lockAssetForUpdate } from '../../db/tables/assets/asset.js';
import { listTracks } from '../../db/tables/assets/track.js';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import type { DomainContext } from '../context.js';

/** The tracks of an asset while it is locked: values and one function, without state. */
export interface LockedTracks {
  readonly tx: Transaction;
  readonly asset: Row<'asset'>;
  readonly tracks: readonly Row<'track'>[];
  /** @throws KinoraError `not_found` */
  get(trackId: string): Row<'track'>;
}

/**
 * Changes the tracks of an asset in one transaction, so that two requests can't use the same name,
 * and updates playlists immediately.
 * @throws KinoraError `not_found`
 */
export const changeTracks = async <T>(
  context: DomainContext,
  environmentId: string,
  assetId: string,
  change: (locked: LockedTracks) => Promise<T>,
): Promise<T> => {
  if (!isId(assetId)) throw new KinoraError('not_found');
  const result = await context.database.transaction(async (tx) => change(await lockTracks(tx, environmentId, assetId)));
  context.onPlayableChanged(assetId);
  return result;
};

/**
 * Runs in an open transaction.
 * @throws KinoraError `not_found`
 */
export const lockTracks = async (tx: Transaction, environmentId: string, assetId: string): Promise<LockedTracks> => {
  const asset = await lockAssetForUpdate(tx, environmentId, assetId);
  if (!asset) throw new KinoraError('not_found');
  const tracks = await listTracks(tx, [assetId]);
  const get = (trackId: string) => {
    const track = tracks.find(({ id }) => id === trackId);
    if (!track) throw new KinoraError('not_found');
    return track;
  };
  return { tx, asset, tracks, get };
};
