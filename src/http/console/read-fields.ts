import { invalidParameters } from '../../lib/errors.js';

/**
 * Reads the text fields of a JSON body. Null counts as absent; NUL, which databases can't store, is
 * rejected.
 * @throws KinoraError `invalid_parameters` when the body is not an object, or a field is not a text
 */
export const readFields = <N extends string>(body: unknown, names: readonly N[]): Partial<Record<N, string>> => {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalidParameters('The request body must be a JSON object.');
  }
  const fields: Partial<Record<N, string>> = {};
  for (const name of names) {
    const value = (body as Record<string, unknown>)[name];
    if (value === undefined || value === null) continue;
    if (typeof value !== 'string' || value.includes('\0')) throw invalidParameters(`${name} must be a text.`);
    fields[name] = value;
  }
  return fields;
};

/**
 * A text that is required. @throws KinoraError `invalid_parameters` when it is missing, blank or
 * too long
 */
export const readText = (value: string | undefined, name: string, maxLength: number): string => {
  const text = value?.trim() ?? '';
  if (text !== '' && text.length <= maxLength) return text;
  throw invalidParameters(`${name} must have 1 to ${maxLength} characters.`);
};

/** One of the values; undefined when absent. @throws KinoraError `invalid_parameters` */
export const oneOf = <T extends string>(
  value: string | undefined,
  name: string,
  values: readonly T[],
): T | undefined => {
  const match = values.find((candidate) => candidate === value);
  if (value !== undefined && !match) throw invalidParameters(`${name} must be one of: ${values.join(', ')}`);
  return match;
};
