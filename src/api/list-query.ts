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

const DEFAULT_LIMIT = 25;
const MAX_LIMIT = 100;

/**
 * Paging parameters from the query string; a limit above 100 is taken as 100.
 * @throws KinoraError `invalid_parameters`
 */
export const readListQuery = (query: Readonly<Record<string, unknown>>): ListQuery => {
  const problems = new Problems();
  const positive = (name: string, fallback: number): number => {
    const text = lastOf(query[name]);
    if (text === undefined) return fallback;
    if (!/^0*[1-9]\d*$/.test(text)) problems.add([name], 'must be a positive integer');
    return Number(text);
  };
  const limit = Math.min(positive('limit', DEFAULT_LIMIT), MAX_LIMIT);
  const page = positive('page', 1);
  const cursor = lastOf(query.cursor);
  const after = cursor === undefined ? undefined : decodeCursor(cursor);
  if (cursor !== undefined && !after) problems.add(['cursor'], 'is invalid');
  problems.throwIfAny(query);
  if (after) return { limit, offset: 0, after };
  return { limit, offset: Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER) };
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
