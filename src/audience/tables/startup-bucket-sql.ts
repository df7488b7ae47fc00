import { type RawBuilder, sql } from 'kysely';
import { STARTUP_BUCKET_FACTOR } from '../calculations/startup-buckets.js';

/** As `startupBucketOf`; null when the time is. */
export const startupBucketSql = (ms: RawBuilder<unknown>): RawBuilder<number> =>
  // `greatest` ignores null.
  sql`case when ${ms} >= 0
    then floor(ln(greatest(${ms}, 1)::float8) / ln(${sql.lit(STARTUP_BUCKET_FACTOR)}::float8))::int end`;
