import type { Queryable, Transaction } from '../../database.js';
import type { Row } from '../../schema.js';

/**
 * Finds the files and the plan of the asset that a clip is made from, and prevents its deletion
 * until the transaction ends.
 */
export const findClipSource = async (
  tx: Transaction,
  environmentId: string,
  assetId: string,
): Promise<
  (Pick<Row<'asset_media'>, 'facts' | 'plan' | 'source_owner'> & Pick<Row<'asset'>, 'max_resolution_tier'>) | undefined
> =>
  tx
    .selectFrom('asset')
    .innerJoin('asset_media', 'asset_media.asset_id', 'asset.id')
    .select(['asset_media.facts', 'asset_media.plan', 'asset_media.source_owner', 'asset.max_resolution_tier'])
    .where('asset.id', '=', assetId)
    .where('asset.environment_id', '=', environmentId)
    .forKeyShare()
    .executeTakeFirst();

/**
 * Like `listSourceUses`, but also locks the rows: until the transaction ends nobody else can decide
 * whether the files are still needed.
 */
export const lockSourceUses = async (tx: Transaction, assetId: string): Promise<string[]> => {
  const ownerIds = await listSourceUses(tx, assetId);
  if (ownerIds.length > 0)
    await tx
      .selectFrom('source_use')
      .select('asset_id')
      .where('owner_id', 'in', ownerIds)
      .orderBy('owner_id')
      .orderBy('asset_id')
      .forUpdate()
      .execute();
  return ownerIds;
};

/** Lists the owners of files that the asset uses in addition to its own. */
export const listSourceUses = async (db: Queryable, assetId: string): Promise<string[]> => {
  const rows = await db.selectFrom('source_use').select('owner_id').where('asset_id', '=', assetId).execute();
  return rows.map(({ owner_id }) => owner_id);
};

export const insertSourceUses = async (
  tx: Transaction,
  assetId: string,
  ownerIds: readonly string[],
): Promise<void> => {
  await tx
    .insertInto('source_use')
    .values(ownerIds.map((owner_id) => ({ asset_id: assetId, owner_id })))
    .execute();
};

/** True while an asset needs the files of `ownerId`; the owner itself may already be deleted. */
export const isSourceUsed = async (db: Queryable, ownerId: string): Promise<boolean> =>
  (await db.selectFrom('source_use').select('asset_id').where('owner_id', '=', ownerId).limit(1).executeTakeFirst()) !==
  undefined;

/** A clip of a broadcast: its files are its own. */
export const saveLiveClip = async (db: Queryable, assetId: string, clip: object): Promise<void> => {
  await db
    .updateTable('asset_media')
    .set({ clip: JSON.stringify(clip) })
    .where('asset_id', '=', assetId)
    .execute();
};

export const saveClip = async (
  tx: Transaction,
  assetId: string,
  clip: { readonly facts: object; readonly sourceOwner: string; readonly clip: object },
): Promise<void> => {
  await tx
    .updateTable('asset_media')
    .set({ facts: JSON.stringify(clip.facts), source_owner: clip.sourceOwner, clip: JSON.stringify(clip.clip) })
    .where('asset_id', '=', assetId)
    .execute();
};
