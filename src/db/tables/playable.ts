import type { Queryable } from '../database.js';
import type { Row } from '../schema.js';

/** What a viewer's request needs to know of a playback id, in one query; the plan is apart because it is large. */
export type PlayableRow = Pick<Row<'playback_id'>, 'policy' | 'asset_id' | 'environment_id'> &
  Pick<Row<'asset'>, 'status' | 'meta' | 'thumbnail_time'>;

export const findPlayableRow = (db: Queryable, playbackId: string): Promise<PlayableRow | undefined> =>
  db
    .selectFrom('playback_id')
    .innerJoin('asset', 'asset.id', 'playback_id.asset_id')
    .select(['playback_id.policy', 'playback_id.asset_id', 'playback_id.environment_id'])
    .select(['asset.status', 'asset.meta', 'asset.thumbnail_time'])
    .where('playback_id.id', '=', playbackId)
    .executeTakeFirst();

export const findReadyTracks = (db: Queryable, assetId: string): Promise<Row<'track'>[]> =>
  db
    .selectFrom('track')
    .selectAll()
    .where('asset_id', '=', assetId)
    .where('status', '=', 'ready')
    .orderBy('seq')
    .execute();

export const findPlan = async (db: Queryable, assetId: string): Promise<object | undefined> => {
  const row = await db.selectFrom('asset_media').select('plan').where('asset_id', '=', assetId).executeTakeFirst();
  return row?.plan ?? undefined;
};
