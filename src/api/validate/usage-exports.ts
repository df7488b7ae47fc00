import type { PageQuery } from '../../domain/requests/list-query.js';
import { Problems } from '../../lib/problems.js';
import { readPage, readPositive } from './list-query.js';
import { readTimeframe } from './timeframe.js';

const DURATION = /^0*[1-9]\d{0,5}:(?:seconds|minutes|hours|days)$/;

/**
 * Paging of GET /system/v1/usage/exports; the other parameters are validated but have no effect.
 * @throws KinoraError `invalid_parameters`
 */
export const validateUsageExportsQuery = (query: Readonly<Record<string, unknown>>): PageQuery => {
  const problems = new Problems();
  const page = readPage(query, problems);
  readPositive(query, 'download_url_ttl', 1, problems);
  const { values, path, window } = readTimeframe(query);
  const isDuration = values.length === 1 && DURATION.test(values[0]!);
  const valid = values.length === 0 || isDuration || (window !== undefined && window[0] < window[1]);
  if (!valid) problems.addSentence(path, 'timeframe is invalid');
  problems.throwIfAny(query);
  return page;
};
