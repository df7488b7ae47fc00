import type { Queryable, Transaction } from '../../database.js';
import type { NewRow, Row } from '../../schema.js';

/** Lists the renditions of several assets; those of one asset are in creation order. */
export const listStaticRenditions = async (
  db: Queryable,
  assetIds: readonly string[],
): Promise<Row<'static_rendition'>[]> =>
  assetIds.length === 0
    ? []
    : db.selectFrom('static_rendition').selectAll().where('asset_id', 'in', assetIds).orderBy('seq').execute();

export const insertStaticRendition = (
  tx: Transaction,
  row: NewRow<'static_rendition'>,
): Promise<Row<'static_rendition'>> =>
  tx.insertInto('static_rendition').values(row).returningAll().executeTakeFirstOrThrow();

/** The rows that the job for a rendition file works on. */
export interface RenditionWork {
  readonly rendition: Row<'static_rendition'>;
  readonly asset: Row<'asset'>;
  readonly plan: object | null;
}

/** Undefined when the rendition was deleted. */
export const findRenditionWork = async (db: Queryable, id: string): Promise<RenditionWork | undefined> => {
  const rendition = await db.selectFrom('static_rendition').selectAll().where('id', '=', id).executeTakeFirst();
  if (!rendition) return undefined;
  const { asset_id: assetId } = rendition;
  const asset = await db.selectFrom('asset').selectAll().where('id', '=', assetId).executeTakeFirst();
  const media = await db.selectFrom('asset_media').select('plan').where('asset_id', '=', assetId).executeTakeFirst();
  return asset && media ? { rendition, asset, plan: media.plan } : undefined;
};

/** Finds a rendition that viewers can download. */
export const findReadyRendition = (
  db: Queryable,
  assetId: string,
  name: string,
): Promise<Row<'static_rendition'> | undefined> =>
  db
    .selectFrom('static_rendition')
    .selectAll()
    .where('asset_id', '=', assetId)
    .where('name', '=', name)
    .where('status', '=', 'ready')
    .executeTakeFirst();

type PreparingChange = Partial<
  Pick<
    NewRow<'static_rendition'>,
    'status' | 'progress' | 'width' | 'height' | 'bitrate' | 'size_bytes' | 'resolution_tier' | 'error'
  >
>;

/**
 * Changes a rendition only while it is preparing; later states are final. Undefined when nothing
 * was changed.
 */
export const updatePreparingRendition = (
  db: Queryable,
  id: string,
  change: PreparingChange,
): Promise<Row<'static_rendition'> | undefined> =>
  db
    .updateTable('static_rendition')
    .set(change)
    .where('id', '=', id)
    .where('status', '=', 'preparing')
    .returningAll()
    .executeTakeFirst();

export const removeStaticRendition = async (tx: Transaction, id: string): Promise<void> => {
  await tx.deleteFrom('static_rendition').where('id', '=', id).execute();
};

/** Saves the value of `mp4_support` and the overall status of its files. */
export const saveMp4Support = async (
  tx: Transaction,
  assetId: string,
  change: Partial<Pick<Row<'asset'>, 'mp4_support' | 'static_renditions_status'>>,
): Promise<void> => {
  await tx.updateTable('asset').set(change).where('id', '=', assetId).execute();
};
