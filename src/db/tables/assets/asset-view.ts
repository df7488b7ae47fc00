import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { jsonArrayFrom, jsonObjectFrom } from 'kysely/helpers/postgres';
import { compileOnce } from '../../compile-once.js';
import type { Database, Queryable } from '../../database.js';
import { joinReads } from '../../join-reads.js';
import { prepared } from '../../prepared.js';
import type { Row, Schema } from '../../schema.js';
import { type ListAssetsQuery, selectAssetPage } from './asset.js';

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

/** An asset with everything that answers and events show about it. */
export interface AssetViewRow {
  readonly asset: Row<'asset'>;
  readonly environment: { readonly id: string; readonly name: string };
  /** In creation order, like the other lists. */
  readonly playbackIds: readonly Pick<Row<'playback_id'>, (typeof PLAYBACK_ID_COLUMNS)[number]>[];
  readonly tracks: readonly Pick<Row<'track'>, (typeof TRACK_COLUMNS)[number]>[];
  readonly renditions: readonly Pick<Row<'static_rendition'>, (typeof RENDITION_COLUMNS)[number]>[];
  readonly shots: Pick<Row<'shots'>, (typeof SHOTS_COLUMNS)[number]> | undefined;
}

/** Searches all environments, for the server's own work. Undefined when there is no such asset. */
export const findAssetView = async (db: Queryable, id: string): Promise<AssetViewRow | undefined> => {
  const [row] = await selectAny(db, id);
  return row && toView(row);
};

/** Undefined when the environment has no such asset. Callers must not change the row objects, which others may get too. */
export const readAssetView = async (
  database: Database,
  environmentId: string,
  id: string,
): Promise<AssetViewRow | undefined> => {
  const view = await readersOf(database).view(id);
  return view?.environment.id === environmentId ? view : undefined;
};

/** Newest first. Repeated requests for a page may return the same row objects, so callers must not change them. */
export const listAssetViews = async (
  database: Database,
  environmentId: string,
  query: ListAssetsQuery,
): Promise<readonly AssetViewRow[]> => {
  const { limit, offset, after, uploadId } = query;
  // The most common form of the list. Other forms use different queries.
  const isPlain = after === undefined && uploadId === undefined;
  if (isPlain) return (await readersOf(database).page(JSON.stringify([environmentId, limit, offset])))!;
  const db = database.queryable;
  const rows = await selectViews(db, selectAssetPage(db, environmentId, query)).execute();
  return rows.map(toView);
};

interface Readers {
  readonly view: (id: string) => Promise<AssetViewRow | undefined>;
  /** `key` is the JSON of the environment's ID, the limit and the offset. */
  readonly page: (key: string) => Promise<readonly AssetViewRow[] | undefined>;
}

const readers = new WeakMap<Database, Readers>();

/** Reads of the embedded engine are joined, because its only connection handles one query after the other. */
const readersOf = (database: Database): Readers => {
  const known = readers.get(database);
  if (known) return known;
  const { engine, queryable: db } = database;
  const pages = new Map<string, Page>();
  const page = (key: string): Promise<readonly AssetViewRow[]> => readPage(db, pages, key);
  const readMany = async (ids: readonly string[]) => {
    const rows = await selectMany(db, [...ids]);
    return new Map(rows.map((row) => [row.id, toView(row)]));
  };
  const readPages = async (keys: readonly string[]) =>
    new Map(await Promise.all(keys.map(async (key) => [key, await page(key)] as const)));
  const made: Readers =
    engine === 'pglite'
      ? { view: joinReads(readMany), page: joinReads(readPages) }
      : { view: (id) => findAssetView(db, id), page };
  readers.set(database, made);
  return made;
};

/** The assets that a query selects, in `order`, an expression over columns of `asset`. */
export const listViewsOf = async (
  db: Queryable,
  assets: AssetQuery,
  order: RawBuilder<unknown>,
): Promise<AssetViewRow[]> => {
  const rows = await db.selectFrom(assets.as('asset')).selectAll('asset').select(children(db)).orderBy(order).execute();
  return rows.map(toView);
};

/** Assets by version. */
type Page = ReadonlyMap<string, AssetViewRow>;

/** A page of 100 assets takes about 500 kB. */
const MAX_PAGES = 16;

/**
 * Reads the versions of all assets of a page, but the contents only of those that have changed since the last read:
 * building the contents takes the embedded engine four times as long as comparing versions. `pages` holds the
 * most recently read ones, the latest last.
 */
const readPage = async (db: Queryable, pages: Map<string, Page>, key: string): Promise<readonly AssetViewRow[]> => {
  const [environmentId, limit, offset] = JSON.parse(key) as [string, number, number];
  const before = pages.get(key);
  const rows = await selectChanged(db, environmentId, limit, offset, [...(before?.keys() ?? [])]);
  const page = new Map(rows.map(({ version, view }) => [version, view ? fromJson(view) : before!.get(version)!]));
  pages.delete(key);
  pages.set(key, page);
  if (pages.size > MAX_PAGES) pages.delete(pages.keys().next().value!);
  return [...page.values()];
};

type AssetQuery = SelectQueryBuilder<Schema, 'asset', Row<'asset'>>;

/** Uses one query. The assets come from a subquery, so the children of rows skipped by its offset are not read. */
const selectViews = (db: Queryable, assets: AssetQuery) =>
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

/**
 * Returns a value that changes with the asset and with everything that a view shows about it. `xmin` is the transaction
 * that wrote a row, so two visible versions of a row never have the same value.
 */
const assetVersion = (db: Queryable) => {
  const writers = (table: 'playback_id' | 'track' | 'static_rendition' | 'shots') =>
    db
      .selectFrom(table)
      .select(sql<string>`coalesce(string_agg(xmin::text, ','), '')`.as('writers'))
      .where('asset_id', '=', sql.ref<string>('asset.id'));
  const parts = [writers('playback_id'), writers('track'), writers('static_rendition'), writers('shots')];
  return sql<string>`concat_ws(' ', asset.id, asset.xmin, ${sql.join(parts.map((part) => sql`(${part})`))})`;
};

const selectChanged = compileOnce((db, environmentId: string, limit: number, offset: number, known: string[]) => {
  const assets = selectAssetPage(db, environmentId, { limit, offset }).select(assetVersion(db).as('version'));
  const view = sql<JsonView>`json_build_object('asset', asset, 'children', ${jsonObjectFrom(db.selectNoFrom(children(db)))})`;
  return db
    .selectFrom(assets.as('asset'))
    .select('version')
    .select(sql<JsonView | null>`case when version = any(${known}::text[]) then null else ${view} end`.as('view'))
    .orderBy('asset.created_at', 'desc')
    .orderBy('asset.seq', 'desc')
    .modifyEnd(prepared);
});

type Children = Omit<Awaited<ReturnType<typeof selectAny>>[number], keyof Row<'asset'>>;
interface JsonView {
  readonly asset: Row<'asset'>;
  readonly children: Children;
}
type TimeColumn = { [C in keyof Row<'asset'>]: Date extends Row<'asset'>[C] ? C : never }[keyof Row<'asset'>];
const TIME_COLUMNS = ['created_at', 'ready_at', 'master_ready_at'] satisfies TimeColumn[];

/** Converts times back, because JSON has no type for them. */
const fromJson = ({ asset, children }: JsonView): AssetViewRow => {
  const times = TIME_COLUMNS.map((column) => [column, asset[column] && new Date(asset[column])]);
  return toView({ ...asset, ...Object.fromEntries(times), ...children });
};

const toView = (row: Awaited<ReturnType<typeof selectAny>>[number]): AssetViewRow => ({
  asset: row,
  environment: { id: row.environment_id, name: row.environment_name! },
  playbackIds: row.playback_ids,
  tracks: row.tracks,
  renditions: row.renditions,
  // Converted because JSON has no type for times.
  shots: row.shots ? { ...row.shots, created_at: new Date(row.shots.created_at) } : undefined,
});

const children = (db: Queryable) => {
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
