import type { Row } from '../../db/schema.js';
import { findTrack } from '../../db/tables/assets/track.js';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import { getAsset } from '../asset-view/get-asset.js';
import type { DomainContext } from '../context.js';

/**
 * Tracks exist once their asset is ready.
 * @throws KinoraError `not_found`
 */
export const getTrack = async (
  context: DomainContext,
  environmentId: string,
  assetId: string,
  trackId: string,
): Promise<Row<'track'>> => {
  const { asset } = await getAsset(context, environmentId, assetId);
  const isThere = asset.status === 'ready' && isId(trackId);
  const track = isThere ? await findTrack(context.database.queryable, assetId, trackId) : undefined;
  if (!track) throw new KinoraError('not_found');
  return track;
};
