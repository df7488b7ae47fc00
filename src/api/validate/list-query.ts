import type { CursorPosition, ListQuery, PageQuery } from '../../domain/requests/list-query.js';
import { lastOf } from '../../lib/last-of.js';
import { Problems } from '../../lib/problems.js';

type Query = Readonly<Record<string, unknown>>;

/** Reads an integer from 1 in a query; an empty value counts as absent. */
export const readPositive = (query: Query, name: string, fallback: number, problems: Problems): number => {
  const text = lastOf(query[name]);
  if (text === undefined || text === '') return fallback;
  if (!/^0*[1-9]\d*$/.test(text)) problems.add([name], 'must be a positive integer');
  return Number(text);
};

const LIMITS = { default: 25, max: 100 };

/**
 * Reads `limit`, reduced to the maximum if it is larger, and `page`; errors are added to
 * `problems`.
 */
export const readPage = (query: Query, problems: Problems, limits = LIMITS): PageQuery => {
  const limit = Math.min(readPositive(query, 'limit', limits.default, problems), limits.max);
  const page = readPositive(query, 'page', 1, problems);
  return { page, limit, offset: Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER) };
};

/** Paging parameters of a list without cursors. @throws KinoraError `invalid_parameters` */
export const readPageQuery = (query: Query, limits = LIMITS): PageQuery => {
  const problems = new Problems();
  const page = readPage(query, problems, limits);
  problems.throwIfAny(query);
  return page;
};

/** Paging parameters of a list with cursors. @throws KinoraError `invalid_parameters` */
export const readListQuery = (query: Query): ListQuery => {
  const problems = new Problems();
  const { limit, offset } = readPage(query, problems);
  const cursor = lastOf(query.cursor);
  const after = cursor === undefined ? undefined : decodeCursor(cursor);
  if (cursor !== undefined && !after) problems.add(['cursor'], 'is invalid');
  problems.throwIfAny(query);
  if (after) return { limit, offset: 0, after };
  return { limit, offset };
};

export const encodeCursor = ({ createdAt, seq }: CursorPosition): string =>
  Buffer.from(JSON.stringify([createdAt.getTime(), seq])).toString('base64url');

/** The largest time in milliseconds that a Date can represent. */
const MAX_TIME_MS = 8.64e15;

const decodeCursor = (cursor: string): CursorPosition | undefined => {
  const match = /^\[(\d{1,16}),(\d{1,15})\]$/.exec(Buffer.from(cursor, 'base64url').toString());
  if (!match || Number(match[1]) > MAX_TIME_MS) return undefined;
  return { createdAt: new Date(Number(match[1])), seq: Number(match[2]) };
};
