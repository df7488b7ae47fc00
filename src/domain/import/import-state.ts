import type { Borrowed, Row } from '../../db/schema.js';
import { findAssetView } from '../../db/tables/assets/asset-view.js';
import { findImport, type ImportRow, listBorrowing, saveImport } from '../../db/tables/assets/import-asset.js';
import { listEnvironments } from '../../db/tables/server/environment.js';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import { toAssetView } from '../asset-view/get-asset.js';
import type { DomainContext } from '../context.js';

type Context = Pick<DomainContext, 'database' | 'clock' | 'wire' | 'artifactUrls'>;

/** Where the import of an asset stands. Survives JSON. */
export interface ImportStatus {
  /** Undefined when no import has begun. */
  readonly state?: ImportRow['state'];
  readonly borrowed?: Borrowed;
  /** The asset of this ID here, as the API shows it, in whatever environment. */
  readonly asset?: Readonly<Record<string, unknown>>;
  /** Why tracks have failed, by their IDs: the API shows this only in events. */
  readonly trackErrors: Readonly<Record<string, string>>;
}

export interface ImportProgress {
  readonly environmentId: string;
  readonly sourceUrl: string;
  readonly assetId: string;
  readonly state: ImportRow['state'];
  /** Null when everything is as it was at the source; unchanged when absent. */
  readonly borrowed?: Borrowed | null;
}

export const findImportStatus = async (
  context: Context,
  { assetId }: { readonly assetId: string },
): Promise<ImportStatus> => {
  const db = context.database.queryable;
  const row = await findImport(db, assetId);
  const view = await findAssetView(db, assetId);
  const errors = (view?.tracks ?? []).flatMap(({ id, error }): [string, string][] =>
    error ? [[id, (error as NonNullable<Row<'track'>['error']>).messages.join(' ')]] : [],
  );
  return {
    state: row?.state,
    borrowed: row?.borrowed ?? undefined,
    asset: view && (context.wire.asset(toAssetView(context, view)) as Record<string, unknown>),
    trackErrors: Object.fromEntries(errors),
  };
};

/** @throws KinoraError `invalid_parameters` */
export const saveImportProgress = async (
  { database, clock }: Pick<DomainContext, 'database' | 'clock'>,
  { environmentId, sourceUrl, assetId, state, borrowed }: ImportProgress,
): Promise<void> => {
  if (!isId(assetId))
    throw new KinoraError('invalid_parameters', { messages: [`${JSON.stringify(assetId)} is not an asset ID.`] });
  await saveImport(database.queryable, {
    asset_id: assetId,
    environment_id: environmentId,
    source_url: sourceUrl,
    state,
    ...(borrowed !== undefined && { borrowed }),
    updated_at: clock.now(),
  });
};

/**
 * Assets for which something must still be undone at the source; the next ones after the ID
 * `after`.
 */
export const listBorrowedAssets = async (
  { database }: Pick<DomainContext, 'database'>,
  { sourceUrl, after }: { readonly sourceUrl: string; readonly after: string },
): Promise<(Pick<ImportProgress, 'assetId' | 'environmentId' | 'state'> & { readonly borrowed: Borrowed })[]> => {
  const rows = await listBorrowing(database.queryable, sourceUrl, { after, limit: 500 });
  return rows.map((row) => ({
    assetId: row.asset_id,
    environmentId: row.environment_id,
    state: row.state,
    borrowed: row.borrowed!,
  }));
};

/**
 * The environment that receives an import; the first one if none is named.
 * @throws KinoraError `not_found`
 */
export const findImportTarget = async (
  { database }: Pick<DomainContext, 'database'>,
  { environmentId }: { readonly environmentId?: string },
): Promise<{ readonly id: string; readonly name: string }> => {
  const environments = await listEnvironments(database.queryable);
  const environment =
    environmentId === undefined ? environments[0] : environments.find(({ id }) => id === environmentId);
  if (environment) return { id: environment.id, name: environment.name };
  throw new KinoraError('not_found', {
    messages: [`There is no environment ${environmentId ?? ''}; kinora env list shows all.`],
  });
};
