import { CurrentReads } from '../../current-reads.js';
import type { Database } from '../../database.js';
import { JoinedReads } from '../../joined-reads.js';
import { type ListAssetsQuery, selectAssetPage } from './asset.js';
import { AssetPages, type PageOf } from './asset-pages.js';
import { type AssetViewRow, findAssetView, findAssetViews, selectViews, toView } from './asset-view.js';

/**
 * Undefined when the environment has no such asset. Callers must not change the row objects, which
 * others may get too.
 */
export const readAssetView = async (
  database: Database,
  environmentId: string,
  id: string,
): Promise<AssetViewRow | undefined> => {
  const view = await readersOf(database).view(id);
  return view?.environment.id === environmentId ? view : undefined;
};

/**
 * Newest first. Repeated requests for a page may return the same row objects, so callers must not
 * change them.
 */
export const listAssetViews = async (
  database: Database,
  environmentId: string,
  query: ListAssetsQuery,
): Promise<readonly AssetViewRow[]> => {
  const { limit, offset, after, uploadId, liveStreamId } = query;
  // The most common form of the list. Other forms use different queries.
  const isPlain = [after, uploadId, liveStreamId].every((filter) => filter === undefined);
  if (isPlain) return readersOf(database).page({ environmentId, limit, offset });
  const db = database.queryable;
  const rows = await selectViews(db, selectAssetPage(db, environmentId, query)).execute();
  return rows.map(toView);
};

interface Readers {
  readonly view: (id: string) => Promise<AssetViewRow | undefined>;
  readonly page: (of: PageOf) => Promise<readonly AssetViewRow[]>;
}

const readers = new WeakMap<Database, Readers>();

const readersOf = (database: Database): Readers => {
  const present = readers.get(database);
  if (present) return present;
  const created = createReaders(database);
  readers.set(database, created);
  return created;
};

/** A view takes about 5 kB. */
const MAX_VIEWS = 500;
const MAX_PAGES = 16;

/**
 * Reads of the embedded engine are joined, because its only connection handles one query after the
 * other, and used again until the data changes, because no other process can change it.
 */
const createReaders = (database: Database): Readers => {
  const { queryable: db } = database;
  const pages = new AssetPages(db);
  if (!database.changes) return { view: (id) => findAssetView(db, id), page: (of) => pages.read(of) };
  const views = new JoinedReads(async (ids: readonly string[]) => {
    const rows = await findAssetViews(db, ids);
    return new Map(rows.map((row) => [row.asset.id, row]));
  });
  // The keys of a batch are compared, so they are texts.
  const joinedPages = new JoinedReads(async (keys: readonly string[]) => {
    const read = keys.map(async (key) => [key, await pages.read(JSON.parse(key))] as const);
    return new Map(await Promise.all(read));
  });
  const changes = () => database.changes!();
  const currentViews = new CurrentReads<AssetViewRow>(changes, MAX_VIEWS);
  const currentPages = new CurrentReads<readonly AssetViewRow[]>(changes, MAX_PAGES);
  return {
    view: (id) => currentViews.read(id, () => views.read(id)),
    page: async ({ environmentId, limit, offset }) => {
      const key = JSON.stringify({ environmentId, limit, offset });
      return (await currentPages.read(key, () => joinedPages.read(key)))!;
    },
  };
};
