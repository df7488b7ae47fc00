import type { Window } from '../../domain/usage/list-delivery-usage.js';
import type { Path } from '../../lib/problems.js';

const SECONDS = /^-?\d{1,15}$/;

/** The value of `timeframe[]` in a query, which may also be written `timeframe`. */
export interface Timeframe {
  readonly values: readonly string[];
  /** Its path in the query. */
  readonly path: Path;
  /** Present when the values are two times, in either order. */
  readonly window: Window | undefined;
}

export const readTimeframe = (query: Readonly<Record<string, unknown>>): Timeframe => {
  const path = ['timeframe[]', 'timeframe'].filter((name) => query[name] !== undefined);
  const values = path.flatMap((name) => query[name] as string | string[]);
  const [start = '', end = '', more] = values;
  const areTimes = more === undefined && SECONDS.test(start) && SECONDS.test(end);
  return { values, path: path.slice(0, 1), window: areTimes ? [Number(start), Number(end)] : undefined };
};
