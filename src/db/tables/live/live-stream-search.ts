import { sql } from 'kysely';
import { isId } from '../../../lib/ids.js';
import type { Queryable } from '../../database.js';
import type { Row } from '../../schema.js';
import { type LiveStreamView, selectViews } from './live-stream.js';

export interface LiveStreamSearch {
  readonly limit: number;
  /** Rows to skip at the start. */
  readonly offset: number;
  readonly status: Row<'live_stream'>['status'] | undefined;
  /** A part of the title in any case, or the whole ID of a live stream or of its playback ID. */
  readonly text: string | undefined;
}

const matches = (environmentId: string, { status, text }: LiveStreamSearch) => {
  const conditions = [sql`live_stream.environment_id = ${environmentId}`];
  if (status !== undefined) conditions.push(sql`live_stream.status = ${status}`);
  if (text !== undefined) {
    const isTitle = sql`live_stream.meta ->> 'title' ilike ${`%${text.replaceAll(/[\\%_]/g, '\\$&')}%`}`;
    const isOwner = sql`live_stream.id = (select live_stream_id from playback_id where id = ${text})`;
    conditions.push(isId(text) ? sql`(${isTitle} or live_stream.id = ${text} or ${isOwner})` : isTitle);
  }
  return sql<boolean>`${sql.join(conditions, sql` and `)}`;
};

/** One page, newest first. */
export const listFoundLiveStreams = (
  db: Queryable,
  environmentId: string,
  search: LiveStreamSearch,
): Promise<LiveStreamView[]> =>
  selectViews(db)
    .where(matches(environmentId, search))
    .orderBy('created_at', 'desc')
    .orderBy('seq', 'desc')
    .limit(search.limit)
    .offset(search.offset)
    .execute();

export const countFoundLiveStreams = async (
  db: Queryable,
  environmentId: string,
  search: LiveStreamSearch,
): Promise<number> => {
  const { count } = await db
    .selectFrom('live_stream')
    .where(matches(environmentId, search))
    .select(sql<number>`count(*)::int`.as('count'))
    .executeTakeFirstOrThrow();
  return count;
};

/** The newest asset of each of the live streams that has one. */
export const listLatestRecordings = async (
  db: Queryable,
  liveStreamIds: readonly string[],
): Promise<{ live_stream_id: string; id: string; created_at: Date }[]> => {
  const { rows } = await sql<{ live_stream_id: string; id: string; created_at: Date }>`
    select distinct on (live_stream_id) live_stream_id, id, created_at from asset
    where live_stream_id = any(${sql.val(liveStreamIds)}::text[])
    order by live_stream_id, created_at desc, seq desc`.execute(db);
  return rows;
};
