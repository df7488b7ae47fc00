import { Problems } from './problems.js';

/** The place of an item in a list that is ordered by creation, newest first. */
export interface CursorPosition {
  readonly createdAt: Date;
  readonly seq: number;
}

export interface ListQuery {
  readonly limit: number;
  /** Items to leave out; 0 when there is a cursor. */
  readonly offset: number;
  readonly after?: CursorPosition;
}

/** The last value of a parameter that may be repeated. */
export const lastOf = (value: unknown): string | undefined => {
  const last = Array.isArray(value) ? value.at(-1) : value;
  return typeof last === 'string' ? last : undefined;
};

type Query = Readonly<Record<string, unknown>>;

/** A whole number from 1 in a query; an empty value counts as absent. */
export const readPositive = (query: Query, name: string, fallback: number, problems: Problems): number => {
  const text = lastOf(query[name]);
  if (text === undefined || text === '') return fallback;
  if (!/^0*[1-9]\d*$/.test(text)) problems.add([name], 'must be a positive integer');
  return Number(text);
};

/** A part of a list without cursors. */
export interface PageQuery {
  /** 1 is the first. */
  readonly page: number;
  readonly limit: number;
  /** Items on the pages before. */
  readonly offset: number;
}

const LIMITS = { default: 25, max: 100 };

/** `limit`, where more than the greatest is taken as the greatest, and `page`; what is wrong with them goes to `problems`. */
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

/** The largest number of milliseconds that a Date can hold. */
const MAX_TIME_MS = 8.64e15;

const decodeCursor = (cursor: string): CursorPosition | undefined => {
  const match = /^\[(\d{1,16}),(\d{1,15})\]$/.exec(Buffer.from(cursor, 'base64url').toString());
  if (!match || Number(match[1]) > MAX_TIME_MS) return undefined;
  return { createdAt: new Date(Number(match[1])), seq: Number(match[2]) };
};
