import type { Queryable } from '../../database.js';
import { prepared } from '../../prepared.js';
import type { Row } from '../../schema.js';

export interface NewAccessToken {
  readonly id: string;
  readonly environment_id: string;
  readonly name: string;
  readonly secret_hash: string;
  readonly permissions: readonly string[];
  readonly created_at: Date;
  /** Null for a token that does not expire. */
  readonly expires_at: Date | null;
}

/** False when a token with this id already exists. */
export const insertAccessToken = async (db: Queryable, token: NewAccessToken): Promise<boolean> => {
  const result = await db
    .insertInto('access_token')
    .values({ ...token, permissions: JSON.stringify(token.permissions), revoked_at: null })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirst();
  return (result.numInsertedOrUpdatedRows ?? 0n) > 0n;
};

export const findAccessToken = (db: Queryable, id: string): Promise<Row<'access_token'> | undefined> =>
  db.selectFrom('access_token').selectAll().where('id', '=', id).executeTakeFirst();

/**
 * Returns everything that a request needs to know about its caller. Undefined for unknown, revoked
 * and expired tokens.
 */
export const findCaller = (db: Queryable, tokenId: string, now: Date) =>
  db
    .selectFrom('access_token')
    .innerJoin('environment', 'environment.id', 'access_token.environment_id')
    .innerJoin('installation', (join) => join.onTrue())
    .select([
      'access_token.id as token_id',
      'access_token.name as token_name',
      'access_token.secret_hash',
      'access_token.permissions',
      'environment.id as environment_id',
      'environment.name as environment_name',
      'environment.type as environment_type',
      'environment.default_video_quality',
      'installation.id as organization_id',
      'installation.organization_name',
    ])
    .where('access_token.id', '=', tokenId)
    .where('access_token.revoked_at', 'is', null)
    .where(({ eb, or }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
    .modifyEnd(prepared)
    .executeTakeFirst();

/** Oldest first, including revoked tokens. */
export const listAccessTokens = (db: Queryable): Promise<Row<'access_token'>[]> =>
  db.selectFrom('access_token').selectAll().orderBy('created_at').orderBy('id').execute();

/** False when there is no valid token with this id. */
export const markRevoked = async (db: Queryable, id: string, at: Date): Promise<boolean> => {
  const result = await db
    .updateTable('access_token')
    .set({ revoked_at: at })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
};
