import { type RawBuilder, sql } from 'kysely';
import type { Queryable } from '../../database.js';
import { prepared } from '../../prepared.js';
import type { NewRow, Row } from '../../schema.js';

export const insertConsoleLink = async (
  db: Queryable,
  link: Pick<Row<'console_link'>, 'code_hash' | 'created_at' | 'expires_at'>,
): Promise<void> => {
  await db
    .insertInto('console_link')
    .values({ ...link, used_at: null })
    .execute();
};

/**
 * Marks a link as used. False when it is unknown, expired or already used; of several callers, one
 * gets true.
 */
export const takeConsoleLink = async (db: Queryable, codeHash: string, now: Date): Promise<boolean> => {
  const result = await db
    .updateTable('console_link')
    .set({ used_at: now })
    .where('code_hash', '=', codeHash)
    .where('used_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
};

export const findConsoleLink = (db: Queryable, codeHash: string): Promise<Row<'console_link'> | undefined> =>
  db.selectFrom('console_link').selectAll().where('code_hash', '=', codeHash).executeTakeFirst();

export const insertConsoleSession = async (db: Queryable, session: NewRow<'console_session'>): Promise<void> => {
  await db.insertInto('console_session').values(session).execute();
};

/**
 * Sessions end at a fixed time, when they were not used since `idleSince`, and with their token.
 */
export interface SessionTimes {
  readonly now: Date;
  readonly idleSince: Date;
}

/** For queries that join the token, if there is one. */
const isLive = ({ now, idleSince }: SessionTimes): RawBuilder<boolean> => sql`(
  console_session.ends_at > ${now} and console_session.last_used_at > ${idleSince} and (
    console_session.token_id is null or
    access_token.revoked_at is null and coalesce(access_token.expires_at > ${now}, true)
  )
)`;

/**
 * Returns everything that a request needs to know about its session. Undefined for unknown and
 * ended sessions.
 */
export const findConsoleSession = (db: Queryable, secretHash: string, times: SessionTimes) =>
  db
    .selectFrom('console_session')
    .innerJoin('environment', 'environment.id', 'console_session.environment_id')
    .innerJoin('installation', (join) => join.onTrue())
    .leftJoin('access_token', 'access_token.id', 'console_session.token_id')
    .select([
      'console_session.token_id',
      'console_session.last_used_at',
      'console_session.ends_at',
      'access_token.name as token_name',
      'access_token.permissions',
      'environment.id as environment_id',
      'environment.name as environment_name',
      'environment.type as environment_type',
      'environment.default_video_quality',
      'installation.id as organization_id',
      'installation.organization_name',
    ])
    .where('console_session.secret_hash', '=', secretHash)
    .where(isLive(times))
    .modifyEnd(prepared)
    .executeTakeFirst();

/** Returns those of the sessions that have not ended. */
export const listLiveSessions = async (
  db: Queryable,
  secretHashes: readonly string[],
  times: SessionTimes,
): Promise<string[]> => {
  const rows = await db
    .selectFrom('console_session')
    .leftJoin('access_token', 'access_token.id', 'console_session.token_id')
    .select('console_session.secret_hash')
    .where('console_session.secret_hash', '=', sql<string>`any(${secretHashes}::text[])`)
    .where(isLive(times))
    .execute();
  return rows.map((row) => row.secret_hash);
};

export const updateConsoleSession = async (
  db: Queryable,
  secretHash: string,
  change: Partial<Pick<Row<'console_session'>, 'last_used_at' | 'environment_id'>>,
): Promise<void> => {
  await db.updateTable('console_session').set(change).where('secret_hash', '=', secretHash).execute();
};

export const deleteConsoleSession = async (db: Queryable, secretHash: string): Promise<void> => {
  await db.deleteFrom('console_session').where('secret_hash', '=', secretHash).execute();
};

/** Removes links that expired before `linksBefore`, and sessions that have ended. */
export const deleteEndedSessions = async (
  db: Queryable,
  { now, idleSince }: SessionTimes,
  linksBefore: Date,
): Promise<void> => {
  await db.deleteFrom('console_link').where('expires_at', '<', linksBefore).execute();
  await db
    .deleteFrom('console_session')
    .where(({ eb, or }) => or([eb('ends_at', '<', now), eb('last_used_at', '<', idleSince)]))
    .execute();
};
