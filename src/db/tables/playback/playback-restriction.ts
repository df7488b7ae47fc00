import { sql } from 'kysely';
import type { Queryable } from '../../database.js';
import type { Row } from '../../schema.js';

type Restriction = Row<'playback_restriction'>;

export interface NewPlaybackRestriction {
  readonly id: string;
  readonly environment_id: string;
  readonly created_at: Date;
  readonly referrer: Restriction['referrer'];
  readonly user_agent: Restriction['user_agent'];
}

export const insertPlaybackRestriction = (db: Queryable, row: NewPlaybackRestriction): Promise<Restriction> =>
  db
    .insertInto('playback_restriction')
    .values({
      ...row,
      updated_at: row.created_at,
      referrer: JSON.stringify(row.referrer),
      user_agent: JSON.stringify(row.user_agent),
    })
    .returningAll()
    .executeTakeFirstOrThrow();

/** Newest first. */
export const listPlaybackRestrictions = (
  db: Queryable,
  environmentId: string,
  page: { readonly limit: number; readonly offset: number },
): Promise<Restriction[]> =>
  db
    .selectFrom('playback_restriction')
    .selectAll()
    .where('environment_id', '=', environmentId)
    .orderBy('created_at', 'desc')
    .orderBy('seq', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute();

export const countPlaybackRestrictions = async (db: Queryable, environmentId: string): Promise<number> => {
  const { count } = await db
    .selectFrom('playback_restriction')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('environment_id', '=', environmentId)
    .executeTakeFirstOrThrow();
  return Number(count);
};

export const findPlaybackRestriction = (
  db: Queryable,
  environmentId: string,
  id: string,
): Promise<Restriction | undefined> =>
  db
    .selectFrom('playback_restriction')
    .selectAll()
    .where('id', '=', id)
    .where('environment_id', '=', environmentId)
    .executeTakeFirst();

/** Finds the rules that apply to viewers' requests, in any environment. */
export const findPlaybackRestrictionRules = (
  db: Queryable,
  ids: readonly string[],
): Promise<Pick<Restriction, 'id' | 'environment_id' | 'referrer' | 'user_agent'>[]> =>
  db
    .selectFrom('playback_restriction')
    .select(['id', 'environment_id', 'referrer', 'user_agent'])
    .where(sql<boolean>`id = any(${sql.val(ids)}::text[])`)
    .execute();

export interface PublicRestriction {
  readonly environmentId: string;
  readonly restrictionId: string | null;
}

/** The restrictions of the public playback IDs of environments; a row for each that exists. */
export const findPublicRestrictions = (
  db: Queryable,
  environmentIds: readonly string[],
): Promise<PublicRestriction[]> =>
  db
    .selectFrom('environment')
    .select(['id as environmentId', 'public_restriction_id as restrictionId'])
    .where(sql<boolean>`id = any(${sql.val(environmentIds)}::text[])`)
    .execute();

/** Null allows everyone again. False when the environment has no such restriction. */
export const updatePublicRestriction = async (
  db: Queryable,
  environmentId: string,
  restrictionId: string | null,
): Promise<boolean> => {
  let update = db
    .updateTable('environment')
    .set({ public_restriction_id: restrictionId })
    .where('id', '=', environmentId);
  if (restrictionId !== null)
    update = update.where(({ exists, selectFrom }) =>
      exists(
        selectFrom('playback_restriction')
          .select('id')
          .where('id', '=', restrictionId)
          .where('environment_id', '=', environmentId)
          .forKeyShare(),
      ),
    );
  return (await update.executeTakeFirst()).numUpdatedRows > 0n;
};

/** Replaces only the given parts. Undefined when the environment has no such restriction. */
export const updatePlaybackRestriction = (
  db: Queryable,
  environmentId: string,
  id: string,
  { referrer, user_agent }: Partial<Pick<Restriction, 'referrer' | 'user_agent'>>,
  updatedAt: Date,
): Promise<Restriction | undefined> =>
  db
    .updateTable('playback_restriction')
    .set({
      updated_at: updatedAt,
      referrer: referrer && JSON.stringify(referrer),
      user_agent: user_agent && JSON.stringify(user_agent),
    })
    .where('id', '=', id)
    .where('environment_id', '=', environmentId)
    .returningAll()
    .executeTakeFirst();

/** The SQLSTATE code. */
const FOREIGN_KEY_VIOLATION = '23503';

/** False when the environment has no such restriction. */
export const removePlaybackRestriction = async (
  db: Queryable,
  environmentId: string,
  id: string,
): Promise<boolean | 'in use'> => {
  try {
    const result = await db
      .deleteFrom('playback_restriction')
      .where('id', '=', id)
      .where('environment_id', '=', environmentId)
      .executeTakeFirst();
    return result.numDeletedRows > 0n;
  } catch (error) {
    if ((error as { code?: unknown }).code === FOREIGN_KEY_VIOLATION) return 'in use';
    throw error;
  }
};
