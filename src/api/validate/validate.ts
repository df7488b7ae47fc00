import type { Static, TSchema } from 'typebox';
import { KinoraError } from '../../lib/errors.js';
import { isObject, type Path, type Problems } from '../../lib/problems.js';
import { formats } from './formats.js';

/** @throws KinoraError `invalid_parameters` */
export const requireJsonObject = (body: unknown): Record<string, unknown> => {
  if (isObject(body)) return body;
  throw new KinoraError('invalid_parameters', { messages: ['Request body must be a JSON object'] });
};

/** The JSON Schema keywords that our schemas use. */
interface SchemaKeywords {
  readonly type?: 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object';
  readonly enum?: readonly string[];
  readonly anyOf?: readonly SchemaKeywords[];
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  /** What complaints call the items, instead of `entries`. */
  readonly 'x-items'?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  /** Any JSON object whose strings can be stored. */
  readonly 'x-free'?: true;
  readonly items?: SchemaKeywords;
  readonly properties?: Readonly<Record<string, SchemaKeywords>>;
  readonly required?: readonly string[];
  /** Complaint about a missing required property, instead of `is required`. */
  readonly 'x-when-absent'?: string;
}

/**
 * Checks a JSON value against a schema, without coercion, and returns the known part: unknown
 * fields are removed, and `null` counts as absent. Of several alternatives it checks only the
 * first, the full form; short forms must be expanded before. If there is a problem, the returned
 * value must not be used.
 */
export const validate = <T extends TSchema>(schema: T, value: unknown, path: Path, problems: Problems): Static<T> =>
  check(schema as SchemaKeywords, value, path, problems) as Static<T>;

const check = (schema: SchemaKeywords, value: unknown, path: Path, problems: Problems): unknown => {
  if (schema.anyOf) return check(schema.anyOf[0]!, value, path, problems);
  if (schema.enum) return checkString(schema, value, path, problems);
  switch (schema.type) {
    case 'string':
      return checkString(schema, value, path, problems);
    case 'number':
      return checkNumber(schema, value, path, problems);
    case 'integer':
      return checkInteger(schema, value, path, problems);
    case 'boolean':
      if (typeof value !== 'boolean') problems.add(path, 'must be a boolean');
      return value;
    case 'array':
      return checkArray(schema, value, path, problems);
    default:
      return checkObject(schema, value, path, problems);
  }
};

const checkString = (schema: SchemaKeywords, value: unknown, path: Path, problems: Problems): unknown => {
  const complaint = typeof value === 'string' ? stringComplaint(schema, value) : 'must be a string';
  if (complaint) problems.add(path, complaint);
  return value;
};

/**
 * Matches NUL and lone surrogates: JSON allows them, but PostgreSQL can't store them in text or
 * jsonb.
 */
const UNSTORABLE = /\0|\p{Surrogate}/u;

const stringComplaint = (schema: SchemaKeywords, text: string): string | undefined => {
  if (schema.enum) return schema.enum.includes(text) ? undefined : `must be one of: ${schema.enum.join(', ')}`;
  if (UNSTORABLE.test(text)) return 'must be valid Unicode text without NUL';
  if (text.length < (schema.minLength ?? 0)) return 'must not be empty';
  if (schema.maxLength !== undefined && codePoints(text) > schema.maxLength) {
    return `must be at most ${schema.maxLength} characters`;
  }
  return schema.format === undefined ? undefined : formats[schema.format]!(text);
};

/** Checks names and strings at any depth. */
const isStorable = (value: unknown): boolean => {
  if (typeof value === 'string') return !UNSTORABLE.test(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, part]) => !UNSTORABLE.test(name) && isStorable(part));
};

const codePoints = (text: string): number => {
  let count = 0;
  for (const _ of text) count++;
  return count;
};

const checkNumber = (schema: SchemaKeywords, value: unknown, path: Path, problems: Problems): unknown => {
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema;
  const bound = schema.minimum === undefined ? '' : ` greater than or equal to ${schema.minimum}`;
  if (!Number.isFinite(value)) problems.add(path, `must be a number${schema.maximum === undefined ? bound : ''}`);
  else if (schema.maximum !== undefined && ((value as number) < minimum || (value as number) > maximum))
    problems.add(path, `must be between ${minimum} and ${maximum}`);
  else if ((value as number) < minimum) problems.add(path, `must be a number${bound}`);
  return value;
};

const checkInteger = (schema: SchemaKeywords, value: unknown, path: Path, problems: Problems): unknown => {
  const { minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER } = schema;
  if (!Number.isInteger(value)) problems.add(path, 'must be an integer');
  else if ((value as number) < minimum || (value as number) > maximum)
    problems.add(path, `must be between ${minimum} and ${maximum}`);
  return value;
};

const checkArray = (schema: SchemaKeywords, value: unknown, path: Path, problems: Problems): unknown => {
  if (!Array.isArray(value)) {
    problems.add(path, 'must be an array');
    return [];
  }
  if (schema.maxItems !== undefined && value.length > schema.maxItems) {
    problems.add(path, `must contain at most ${schema.maxItems} ${schema['x-items'] ?? 'entries'}`);
    return [];
  }
  if (value.length < (schema.minItems ?? 0)) problems.add(path, 'must contain at least one entry');
  return value.map((item, at) => check(schema.items!, item, [...path, at], problems));
};

const checkObject = (schema: SchemaKeywords, value: unknown, path: Path, problems: Problems): unknown => {
  if (!isObject(value)) {
    problems.add(path, 'must be an object');
    return {};
  }
  if (schema['x-free']) {
    if (!isStorable(value)) problems.add(path, 'must be valid Unicode text without NUL');
    return value;
  }
  const knownFields: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(schema.properties!)) {
    const fieldValue = Object.hasOwn(value, name) ? value[name] : undefined;
    if (fieldValue !== undefined && fieldValue !== null)
      knownFields[name] = check(property, fieldValue, [...path, name], problems);
    else if (schema.required?.includes(name)) {
      problems.add([...path, name], property['x-when-absent'] ?? 'is required');
    }
  }
  return knownFields;
};
