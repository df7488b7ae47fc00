import type { Queryable } from '../../database.js';
import type { NewRow, Row } from '../../schema.js';

type Configuration = Row<'drm_configuration'>;

export const insertDrmConfiguration = async (db: Queryable, row: NewRow<'drm_configuration'>): Promise<void> => {
  await db.insertInto('drm_configuration').values(row).execute();
};

/** Newest first. Without `environmentId` it lists the configurations of all environments. */
export const listDrmConfigurationRows = (
  db: Queryable,
  page: { readonly limit: number; readonly offset: number },
  environmentId?: string,
): Promise<Configuration[]> => {
  let select = db.selectFrom('drm_configuration').selectAll();
  if (environmentId !== undefined) select = select.where('environment_id', '=', environmentId);
  return select.orderBy('created_at', 'desc').orderBy('seq', 'desc').limit(page.limit).offset(page.offset).execute();
};

/** Without `environmentId` it searches all environments. */
export const findDrmConfiguration = (
  db: Queryable,
  id: string,
  environmentId?: string,
): Promise<Configuration | undefined> => {
  let select = db.selectFrom('drm_configuration').selectAll().where('id', '=', id);
  if (environmentId !== undefined) select = select.where('environment_id', '=', environmentId);
  return select.executeTakeFirst();
};

/**
 * Locks the configuration until the transaction ends; `forChild` only prevents its deletion. False
 * when it does not exist.
 */
export const lockDrmConfiguration = async (
  db: Queryable,
  id: string,
  purpose: { readonly forChild: { readonly environmentId: string } } | 'forRemoval',
): Promise<boolean> => {
  const select = db.selectFrom('drm_configuration').select('id').where('id', '=', id);
  const locked =
    purpose === 'forRemoval'
      ? select.forUpdate()
      : select.where('environment_id', '=', purpose.forChild.environmentId).forKeyShare();
  return (await locked.executeTakeFirst()) !== undefined;
};

export const countDrmPlaybackIds = async (db: Queryable, configurationId: string): Promise<number> => {
  const { count } = await db
    .selectFrom('playback_id')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('drm_configuration_id', '=', configurationId)
    .executeTakeFirstOrThrow();
  return Number(count);
};

/** Also removes its keys. */
export const removeDrmConfiguration = async (db: Queryable, id: string): Promise<void> => {
  await db.deleteFrom('drm_configuration').where('id', '=', id).execute();
};
