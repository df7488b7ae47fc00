import { readPage } from '../../api/validate/list-query.js';
import { type AssetSearch, sortColumns } from '../../domain/assets/search-assets.js';
import { Problems } from '../../lib/problems.js';
import { readOneOf, readSearchText } from './read-search.js';

const STATUSES = ['preparing', 'ready', 'errored'] as const;
const POLICIES = ['public', 'signed', 'drm'] as const;
const SORTS = [...sortColumns, ...sortColumns.map((name) => `-${name}` as const)];

/** Filters, order and page of the list of assets. @throws KinoraError `invalid_parameters` */
export const readAssetSearch = (query: Readonly<Record<string, unknown>>): AssetSearch => {
  const problems = new Problems();
  const { limit, offset } = readPage(query, problems);
  const text = readSearchText(query, problems);
  const sort = readOneOf(query, 'sort', SORTS, problems) ?? '-created_at';
  const search = {
    limit,
    offset,
    text,
    status: readOneOf(query, 'status', STATUSES, problems),
    policy: readOneOf(query, 'policy', POLICIES, problems),
    sortBy: sortColumns.find((name) => sort.endsWith(name))!,
    isDescending: sort.startsWith('-'),
  };
  problems.throwIfAny(query);
  return search;
};
