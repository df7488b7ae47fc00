import { type Expression, sql } from 'kysely';
import type { Queryable } from '../../db/database.js';
import type { TraceDimension } from '../dimensions.js';
import type { ErrorsRequest, ValuesRequest } from '../requests/metric-requests.js';
import { endedViewsOf } from './filter-views.js';
import { dimensionValue, traceElements } from './view-values.js';

export interface DimensionValue {
  readonly value: string | null;
  /** Views with it. */
  readonly count: number;
}

export interface DimensionValues {
  readonly values: DimensionValue[];
  readonly total: number;
}

/** A page of the values of a dimension in views that have ended, and their number. */
export const listDimensionValues = (
  db: Queryable,
  environmentId: string,
  request: ValuesRequest,
): Promise<DimensionValues> =>
  pageOfValues(
    db,
    endedViewsOf(db, environmentId, request.selection, 'ended_at')
      .select([dimensionValue(request.dimension).as('value'), sql<number>`count(*)::float8`.as('count')])
      .groupBy(sql`1`),
    request,
  );

/** The same of the elements of a trace; an element that a view has twice counts once. */
export const listTraceElements = (
  db: Queryable,
  environmentId: string,
  request: ValuesRequest<TraceDimension>,
): Promise<DimensionValues> => {
  const traces = endedViewsOf(db, environmentId, request.selection, 'ended_at').select(
    traceElements(request.dimension).as('elements'),
  );
  const elements = sql`select element as value, count(*)::float8 as count
    from (${traces}) as traces cross join lateral (select distinct unnest(traces.elements) as element) as each
    group by 1`;
  return pageOfValues(db, elements, request);
};

const pageOfValues = async (
  db: Queryable,
  values: Expression<unknown>,
  { orderBy, direction, page }: Pick<ValuesRequest, 'orderBy' | 'direction' | 'page'>,
): Promise<DimensionValues> => {
  const order = orderBy === 'field' ? sql`value collate "C"` : sql`count`;
  const { rows } = await sql<{ value: string | null; count: number | null; total: number }>`
    with counted as materialized (${values})
    select page.*, (select count(*)::float8 from counted) as total
    from (select 1) as one left join (
      select * from counted order by ${order} ${sql.raw(direction)}, value collate "C"
      limit ${page.limit} offset ${page.offset}
    ) as page on true
    order by ${order} ${sql.raw(direction)}, value collate "C"`.execute(db);
  return {
    values: rows.flatMap(({ value, count }) => (count === null ? [] : { value, count })),
    total: rows[0]!.total,
  };
};

export interface CountedError {
  readonly id: number;
  readonly code: string;
  readonly message: string;
  readonly lastSeenAt: Date;
  readonly count: number;
}

/** A page of the errors of views that have ended, the most frequent first. */
export const listErrors = async (
  db: Queryable,
  environmentId: string,
  { selection, page }: ErrorsRequest,
): Promise<{ errors: CountedError[]; total: number; views: number }> => {
  const views = endedViewsOf(db, environmentId, selection, 'ended_at');
  const { total, all } = await views
    .select([
      sql<number>`count(distinct video_view.error_id)::float8`.as('total'),
      sql<number>`count(*)::float8`.as('all'),
    ])
    .executeTakeFirstOrThrow();
  const errors = await views
    .innerJoin('view_error', 'view_error.id', 'video_view.error_id')
    .select([
      'view_error.id',
      'view_error.code',
      'view_error.message',
      'view_error.last_seen_at as lastSeenAt',
      sql<number>`count(*)::float8`.as('count'),
    ])
    .groupBy('view_error.id')
    .orderBy('count', 'desc')
    .orderBy('view_error.id')
    .limit(page.limit)
    .offset(page.offset)
    .execute();
  return { errors, total, views: all };
};
