import { sql } from 'kysely';
import type { Clock } from '../lib/clock.js';
import type { Database } from './database.js';

/**
 * How far the clock of this machine is ahead of that of the database. The time that the query takes
 * does not count.
 */
export const clockDifferenceMs = async ({ queryable }: Database, clock: Clock): Promise<number> => {
  const beforeMs = clock.now().getTime();
  const { rows } = await sql<{ ms: number }>`select extract(epoch from clock_timestamp())::float8 * 1000 as ms`.execute(
    queryable,
  );
  const afterMs = clock.now().getTime();
  const { ms } = rows[0]!;
  return ms < beforeMs ? beforeMs - ms : Math.min(afterMs - ms, 0);
};
