import { readPage } from '../../api/validate/list-query.js';
import { type AssetSearch, sortColumns } from '../../domain/assets/search-assets.js';
import { lastOf } from '../../lib/last-of.js';
import { Problems } from '../../lib/problems.js';

/** The longest title that an asset can have. */
const MAX_SEARCH_LENGTH = 512;
const STATUSES = ['preparing', 'ready', 'errored'] as const;
const POLICIES = ['public', 'signed', 'drm'] as const;

type Query = Readonly<Record<string, unknown>>;

/** Filters, order and page of the list of assets. @throws KinoraError `invalid_parameters` */
export const readAssetSearch = (query: Query): AssetSearch => {
  const problems = new Problems();
  const oneOf = <T extends string>(name: string, values: readonly T[]): T | undefined => {
    const rawValue = lastOf(query[name]) || undefined;
    const match = values.find((value) => value === rawValue);
    if (rawValue !== undefined && !match) problems.add([name], `must be one of: ${values.join(', ')}`);
    return match;
  };
  const { limit, offset } = readPage(query, problems);
  const text = lastOf(query.search)?.trim() || undefined;
  if (text !== undefined && text.length > MAX_SEARCH_LENGTH)
    problems.add(['search'], `must have at most ${MAX_SEARCH_LENGTH} characters`);
  const sort = oneOf('sort', [...sortColumns, ...sortColumns.map((name) => `-${name}` as const)]) ?? '-created_at';
  const search = {
    limit,
    offset,
    text,
    status: oneOf('status', STATUSES),
    policy: oneOf('policy', POLICIES),
    sortBy: sortColumns.find((name) => sort.endsWith(name))!,
    isDescending: sort.startsWith('-'),
  };
  problems.throwIfAny(query);
  return search;
};
