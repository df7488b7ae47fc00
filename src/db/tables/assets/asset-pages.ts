import { sql } from 'kysely';
import { jsonObjectFrom } from 'kysely/helpers/postgres';
import { compileOnce } from '../../compile-once.js';
import type { Queryable } from '../../database.js';
import { prepared } from '../../prepared.js';
import type { Row } from '../../schema.js';
import { selectAssetPage } from './asset.js';
import { type AssetViewRow, children, type SelectedView, toView } from './asset-view.js';

/** Identifies a page of the assets of an environment. */
export interface PageOf {
  readonly environmentId: string;
  readonly limit: number;
  readonly offset: number;
}

/** Assets by version, in order. */
type Page = ReadonlyMap<string, AssetViewRow>;

/** A page of 100 assets takes about 500 kB. */
const MAX_PAGES = 16;

/**
 * Pages of the list of assets. Reads the versions of all assets of a page, but the contents only of
 * those that have changed since the page was read last. Measured on the embedded engine, for a page
 * of 25: 0.44 to 0.59 ms of CPU time for the versions, 2.0 to 3.2 ms for the contents.
 */
export class AssetPages {
  readonly #db: Queryable;
  /** The most recently read ones, the latest last. */
  readonly #pages = new Map<string, Page>();

  constructor(db: Queryable) {
    this.#db = db;
  }

  /** Rows that did not change are the same objects as before, so callers must not change them. */
  async read({ environmentId, limit, offset }: PageOf): Promise<readonly AssetViewRow[]> {
    const key = JSON.stringify([environmentId, limit, offset]);
    const before = this.#pages.get(key);
    const rows = await selectChanged(this.#db, environmentId, limit, offset, [...(before?.keys() ?? [])]);
    const page = new Map(rows.map(({ version, view }) => [version, view ? fromJson(view) : before!.get(version)!]));
    this.#pages.delete(key);
    this.#pages.set(key, page);
    if (this.#pages.size > MAX_PAGES) this.#pages.delete(this.#pages.keys().next().value!);
    return [...page.values()];
  }
}

/**
 * Returns a value that changes with the asset and with everything that a view shows about it.
 * `xmin` is the transaction that wrote a row, so two visible versions of a row never have the same
 * value.
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

const selectChanged = compileOnce(
  (db, environmentId: string, limit: number, offset: number, knownVersions: string[]) => {
    const assets = selectAssetPage(db, environmentId, { limit, offset }).select(assetVersion(db).as('version'));
    const view = sql<JsonView>`json_build_object('asset', asset, 'children', ${jsonObjectFrom(db.selectNoFrom(children(db)))})`;
    return db
      .selectFrom(assets.as('asset'))
      .select('version')
      .select(
        sql<JsonView | null>`case when version = any(${knownVersions}::text[]) then null else ${view} end`.as('view'),
      )
      .orderBy('asset.created_at', 'desc')
      .orderBy('asset.seq', 'desc')
      .modifyEnd(prepared);
  },
);

interface JsonView {
  readonly asset: Row<'asset'>;
  readonly children: Omit<SelectedView, keyof Row<'asset'>>;
}

type TimeColumn = {
  [C in keyof Row<'asset'>]: Date extends Row<'asset'>[C] ? C : never;
}[keyof Row<'asset'>];
/** All of them: the compiler reports one that is missing. */
const TIME_COLUMNS = Object.keys({
  created_at: true,
  ready_at: true,
  master_ready_at: true,
} satisfies Record<TimeColumn, true>) as TimeColumn[];

/** Converts times back, because JSON has no type for them. */
const fromJson = ({ asset, children: parts }: JsonView): AssetViewRow => {
  const times = TIME_COLUMNS.map((column) => [column, asset[column] && new Date(asset[column])]);
  return toView({ ...asset, ...Object.fromEntries(times), ...parts });
};
