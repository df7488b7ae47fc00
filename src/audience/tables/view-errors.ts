import { sql } from 'kysely';
import type { Queryable } from '../../db/database.js';

export interface ReportedError {
  readonly environment_id: string;
  readonly code: string;
  readonly message: string;
}

/** In one environment; all others are one. */
const MAX_ERRORS = 1000;
const OTHER = { code: 'other', message: '' };

const keyOf = ({ environment_id: environmentId, code, message }: ReportedError): string =>
  JSON.stringify([environmentId, code, message]);

/** Stores what is new of these errors. Returns a function that tells the ID of each of them. */
export const storeErrors = async (
  db: Queryable,
  errors: readonly ReportedError[],
  now: Date,
): Promise<(error: ReportedError) => number | null> => {
  if (errors.length === 0) return () => null;
  const { rows } = await sql<ReportedError & { id: number }>`
    with given as (
      select distinct given.*
      from jsonb_to_recordset(${JSON.stringify(errors)}::jsonb) as given (environment_id text, code text, message text)
      join environment on environment.id = given.environment_id
    ), numbered as (
      select given.*, view_error.id is not null as is_known,
        row_number() over (partition by given.environment_id, view_error.id is null order by code, message) as number
      from given left join view_error using (environment_id, code, message)
    ), limited as (
      select distinct environment_id,
        case when is_stored then code else ${OTHER.code} end as code,
        case when is_stored then message else ${OTHER.message} end as message
      from numbered cross join lateral (
        select is_known or number + count(*) <= ${MAX_ERRORS} as is_stored
        from view_error where environment_id = numbered.environment_id
      ) as counted
    )
    insert into view_error (environment_id, code, message, created_at, last_seen_at)
    select environment_id, code, message, ${now}::timestamptz, ${now}::timestamptz from limited
    order by environment_id, code, message
    on conflict (environment_id, code, message) do update set last_seen_at = excluded.last_seen_at
    returning id, environment_id, code, message`.execute(db);
  const ids = new Map(rows.map((row) => [keyOf(row), row.id]));
  return (error) => ids.get(keyOf(error)) ?? ids.get(keyOf({ ...error, ...OTHER })) ?? null;
};
