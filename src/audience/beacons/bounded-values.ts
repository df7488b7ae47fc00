/** What a column of the type `integer` can hold. */
const MAX_INTEGER = 2 ** 31 - 1;
/** Larger than any number of bits per second, or of shares times milliseconds. */
const MAX_NUMBER = 1e15;

/** PostgreSQL stores neither NUL nor half of a surrogate pair. */
const NOT_STORED = /[\0\p{Cs}]/gu;

/**
 * At most `maxLength` UTF-16 units of a text, a number or a flag that somebody sent; undefined for
 * everything else, and for what is empty.
 */
export const boundedText = (value: unknown, maxLength: number): string | undefined => {
  if (typeof value === 'string') return value.slice(0, maxLength).replace(NOT_STORED, '') || undefined;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return undefined;
};

/** A number from 0; undefined for everything else. Texts are read as numbers. */
export const boundedNumber = (value: unknown): number | undefined => {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof number === 'number' && number >= 0 ? Math.min(number, MAX_NUMBER) : undefined;
};

/** The same, as a whole number that fits into a column. */
export const boundedInteger = (value: unknown): number | undefined => {
  const number = boundedNumber(value);
  return number === undefined ? undefined : Math.min(Math.round(number), MAX_INTEGER);
};

/** Undefined for what is neither true nor false. */
export const readFlag = (value: unknown): boolean | undefined => {
  if (value === true || value === 'true' || value === 1) return true;
  if (value === false || value === 'false' || value === 0) return false;
  return undefined;
};
