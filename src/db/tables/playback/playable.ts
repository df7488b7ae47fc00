import { sql } from 'kysely';
import type { Queryable } from '../../database.js';
import { prepared } from '../../prepared.js';
import type { Row } from '../../schema.js';

/**
 * What a viewer's request needs to know about a playback id, read in one query. The plan is read separately because it is
 * large.
 */
export type PlayableRow = Pick<Row<'playback_id'>, 'policy' | 'asset_id' | 'environment_id' | 'drm_configuration_id'> &
  Pick<Row<'asset'>, 'status' | 'meta' | 'thumbnail_time' | 'chapters'>;

export const findPlayableRow = (db: Queryable, playbackId: string): Promise<PlayableRow | undefined> =>
  db
    .selectFrom('playback_id')
    .innerJoin('asset', 'asset.id', 'playback_id.asset_id')
    .select(['playback_id.policy', 'playback_id.asset_id', 'playback_id.environment_id'])
    .select('playback_id.drm_configuration_id')
    .select(['asset.status', 'asset.meta', 'asset.thumbnail_time', 'asset.chapters'])
    .where('playback_id.id', '=', playbackId)
    .modifyEnd(prepared)
    .executeTakeFirst();

/** `audio` is the plan of an alternate audio track without the boundaries, which take up most of the plan. */
export type PlayableTrack = Row<'track'> & { readonly audio: object | null };

export const findReadyTracks = (db: Queryable, assetId: string): Promise<PlayableTrack[]> =>
  db
    .selectFrom('track')
    .leftJoin('track_media', 'track_media.track_id', 'track.id')
    .selectAll('track')
    .select(sql<object | null>`track_media.plan - 'boundaries'`.as('audio'))
    .where('asset_id', '=', assetId)
    .where('status', '=', 'ready')
    .orderBy('seq')
    .modifyEnd(prepared)
    .execute();

/** Undefined when the asset has no ready alternate audio track with this id. */
export const findAlternateAudio = (
  db: Queryable,
  assetId: string,
  trackId: string,
): Promise<Pick<Row<'track_media'>, 'source_asset_id' | 'source_track_id' | 'joined' | 'plan'> | undefined> =>
  db
    .selectFrom('track')
    .innerJoin('track_media', 'track_media.track_id', 'track.id')
    .select(['track_media.source_asset_id', 'track_media.source_track_id', 'track_media.joined', 'track_media.plan'])
    .where('track.id', '=', trackId)
    .where('track.asset_id', '=', assetId)
    .where('track.status', '=', 'ready')
    .executeTakeFirst();

export const findPlan = async (db: Queryable, assetId: string): Promise<object | undefined> => {
  const row = await db.selectFrom('asset_media').select('plan').where('asset_id', '=', assetId).executeTakeFirst();
  return row?.plan ?? undefined;
};
