import { lastOf } from '../../lib/last-of.js';
import type { Path, Problems } from '../../lib/problems.js';

export type Query = Readonly<Record<string, unknown>>;

/** The values of an array in a query, which may be written `name[]` or `name`, and their paths. */
export const readArray = (query: Query, name: string): { readonly text: string; readonly path: Path }[] =>
  [`${name}[]`, name].flatMap((written) => {
    const value = query[written];
    const values = value === undefined ? [] : [value].flat();
    return values.map((text, at) => ({ text: String(text), path: [written, at] }));
  });

/** Reads one of several words; an empty value counts as absent. */
export const readChoice = <Word extends string>(
  query: Query,
  name: string,
  words: readonly Word[],
  problems: Problems,
): Word | undefined => {
  const text = lastOf(query[name]);
  if (text === undefined || text === '') return undefined;
  if (!(words as readonly string[]).includes(text)) problems.add([name], `must be one of: ${words.join(', ')}`);
  return text as Word;
};

export type Direction = 'asc' | 'desc';

export const readDirection = (query: Query, problems: Problems): Direction | undefined =>
  readChoice(query, 'order_direction', ['asc', 'desc'], problems);
