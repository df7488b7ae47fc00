import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { jsonArrayFrom, jsonObjectFrom } from 'kysely/helpers/postgres';
import { compileOnce } from '../../compile-once.js';
import type { Queryable } from '../../database.js';
import { prepared } from '../../prepared.js';
import type { Row, Schema } from '../../schema.js';

const PLAYBACK_ID_COLUMNS = ['id', 'asset_id', 'policy', 'drm_configuration_id'] as const;
const TRACK_COLUMNS = [
  ...(['id', 'asset_id', 'type', 'status', 'is_primary', 'name', 'language_code', 'duration_seconds'] as const),
  ...(['max_width', 'max_height', 'max_frame_rate', 'max_channels', 'max_channel_layout'] as const),
  ...(['text_type', 'text_source', 'closed_captions', 'passthrough', 'language_confidence', 'progress'] as const),
  'error' as const,
] as const;
const RENDITION_COLUMNS = [
  ...(['id', 'asset_id', 'name', 'ext', 'resolution', 'status', 'width', 'height', 'bitrate', 'size_bytes'] as const),
  ...(['resolution_tier', 'passthrough', 'error'] as const),
] as const;
const SHOTS_COLUMNS = ['asset_id', 'order_id', 'status', 'created_at', 'error'] as const;

/** An asset with everything that responses and events show about it. */
export interface AssetViewRow {
  readonly asset: Row<'asset'>;
  readonly environment: { readonly id: string; readonly name: string };
  /** In creation order, like the other lists. */
  readonly playbackIds: readonly Pick<Row<'playback_id'>, (typeof PLAYBACK_ID_COLUMNS)[number]>[];
  readonly tracks: readonly Pick<Row<'track'>, (typeof TRACK_COLUMNS)[number]>[];
  readonly renditions: readonly Pick<Row<'static_rendition'>, (typeof RENDITION_COLUMNS)[number]>[];
  readonly shots: Pick<Row<'shots'>, (typeof SHOTS_COLUMNS)[number]> | undefined;
}

/** Searches all environments, for the server's own tasks. Undefined when there is no such asset. */
export const findAssetView = async (db: Queryable, id: string): Promise<AssetViewRow | undefined> => {
  const [row] = await selectAny(db, id);
  return row && toView(row);
};

export const findAssetViews = async (db: Queryable, ids: readonly string[]): Promise<AssetViewRow[]> =>
  (await selectMany(db, [...ids])).map(toView);

/** The assets that a query selects, in `order`, an expression over columns of `asset`. */
export const listViewsOf = async (
  db: Queryable,
  assets: AssetQuery,
  order: RawBuilder<unknown>,
): Promise<AssetViewRow[]> => {
  const rows = await db.selectFrom(assets.as('asset')).selectAll('asset').select(children(db)).orderBy(order).execute();
  return rows.map(toView);
};

type AssetQuery = SelectQueryBuilder<Schema, 'asset', Row<'asset'>>;

/**
 * Uses one query. The assets come from a subquery, so the children of rows skipped by its offset
 * are not read.
 */
export const selectViews = (db: Queryable, assets: AssetQuery) =>
  db
    .selectFrom(assets.as('asset'))
    .selectAll('asset')
    .select(children(db))
    .orderBy('asset.created_at', 'desc')
    .orderBy('asset.seq', 'desc')
    .modifyEnd(prepared);

const selectAny = compileOnce((db, id: string) =>
  selectViews(db, db.selectFrom('asset').selectAll().where('id', '=', id)),
);
const selectMany = compileOnce((db, ids: string[]) =>
  selectViews(db, db.selectFrom('asset').selectAll().where('id', '=', sql<string>`any(${ids}::text[])`)),
);

/** A row of `selectViews`. */
export type SelectedView = Awaited<ReturnType<typeof selectAny>>[number];

export const toView = (row: SelectedView): AssetViewRow => ({
  asset: row,
  environment: { id: row.environment_id, name: row.environment_name! },
  playbackIds: row.playback_ids,
  tracks: row.tracks,
  renditions: row.renditions,
  // JSON has no type for times.
  shots: row.shots ? { ...row.shots, created_at: new Date(row.shots.created_at) } : undefined,
});

/** Everything of a view besides the row of the asset. */
export const children = (db: Queryable) => {
  const assetId = sql.ref<string>('asset.id');
  return [
    db
      .selectFrom('environment')
      .select('name')
      .where('id', '=', sql.ref<string>('asset.environment_id'))
      .as('environment_name'),
    jsonArrayFrom(
      db.selectFrom('playback_id').select(PLAYBACK_ID_COLUMNS).where('asset_id', '=', assetId).orderBy('seq'),
    ).as('playback_ids'),
    jsonArrayFrom(db.selectFrom('track').select(TRACK_COLUMNS).where('asset_id', '=', assetId).orderBy('seq')).as(
      'tracks',
    ),
    jsonArrayFrom(
      db.selectFrom('static_rendition').select(RENDITION_COLUMNS).where('asset_id', '=', assetId).orderBy('seq'),
    ).as('renditions'),
    jsonObjectFrom(db.selectFrom('shots').select(SHOTS_COLUMNS).where('asset_id', '=', assetId)).as('shots'),
  ] as const;
};
