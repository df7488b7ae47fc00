import { lastOf } from '../../lib/last-of.js';
import type { Problems } from '../../lib/problems.js';

type Query = Readonly<Record<string, unknown>>;

/** The longest title that anything can have. */
const MAX_SEARCH_LENGTH = 512;

/** Reads one of several values; an empty one counts as absent. */
export const readOneOf = <T extends string>(
  query: Query,
  name: string,
  values: readonly T[],
  problems: Problems,
): T | undefined => {
  const rawValue = lastOf(query[name]) || undefined;
  const match = values.find((value) => value === rawValue);
  if (rawValue !== undefined && !match) problems.add([name], `must be one of: ${values.join(', ')}`);
  return match;
};

/** Reads what is searched for; undefined when that is nothing. */
export const readSearchText = (query: Query, problems: Problems): string | undefined => {
  const text = lastOf(query.search)?.trim() || undefined;
  if (text !== undefined && text.length > MAX_SEARCH_LENGTH)
    problems.add(['search'], `must have at most ${MAX_SEARCH_LENGTH} characters`);
  return text;
};
