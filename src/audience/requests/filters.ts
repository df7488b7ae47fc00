import type { Path, Problems } from '../../lib/problems.js';
import { type AnyDimension, isDimension, isTraceDimension, type TraceDimension } from '../dimensions.js';
import { type Query, readArray } from './query-values.js';

/** One condition of `filters[]`. */
export type ViewFilter =
  /** `value` null: views that have none. */
  | { readonly kind: 'is' | 'is_not'; readonly dimension: AnyDimension; readonly value: string | null }
  /** One of the elements of a trace. */
  | { readonly kind: 'has' | 'lacks'; readonly dimension: TraceDimension; readonly element: string }
  /** All elements of a trace, in their order. */
  | { readonly kind: 'trace'; readonly dimension: TraceDimension; readonly elements: readonly string[] };

/** In a query, a plus sign that is not encoded means a space. */
const FILTER = /^([!+ -]?)([^:]*):([\s\S]*)$/;

export const readFilters = (query: Query, problems: Problems): ViewFilter[] =>
  readArray(query, 'filters')
    .filter(({ text }) => text !== '')
    .flatMap(({ text, path }) => parseFilter(text, path, problems) ?? []);

const parseFilter = (text: string, path: Path, problems: Problems): ViewFilter | undefined => {
  const [, sign, name = '', value = ''] = FILTER.exec(text) ?? [];
  if (sign === undefined) {
    problems.addSentence(path, `filter ${text} must have the form dimension:value`);
  } else if (!isDimension(name)) {
    problems.addSentence(path, `filter ${text} has the unknown dimension ${name}`);
  } else if (sign === '' || sign === '!') {
    const elements = isTraceDimension(name) && sign === '' ? parseTrace(value) : undefined;
    return elements
      ? { kind: 'trace', dimension: name as TraceDimension, elements }
      : { kind: sign === '' ? 'is' : 'is_not', dimension: name, value: value === '' ? null : value };
  } else if (isTraceDimension(name)) {
    return { kind: sign === '-' ? 'lacks' : 'has', dimension: name, element: value };
  } else {
    problems.addSentence(path, `filter ${text} must not begin with + or -, because ${name} has only one value`);
  }
  return undefined;
};

/** `[fastly,akamai]`; undefined for other text. */
const parseTrace = (value: string): string[] | undefined => {
  const inside = /^\[(.*)\]$/s.exec(value)?.[1];
  if (inside === undefined) return undefined;
  return inside.trim() === '' ? [] : inside.split(',').map((element) => element.trim());
};
