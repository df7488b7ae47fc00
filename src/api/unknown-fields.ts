import type { TSchema } from 'typebox';
import { formatPath, isObject, type Path } from '../lib/problems.js';

/** A field of a request body that its schema does not have. */
interface UnknownField {
  /** Such as `inputs[0].ulr`. */
  readonly name: string;
  /** The known field that it may stand for, from the root of the body as well. */
  readonly meant?: string;
}

interface SchemaKeywords {
  readonly anyOf?: readonly SchemaKeywords[];
  readonly items?: SchemaKeywords;
  readonly properties?: Readonly<Record<string, SchemaKeywords>>;
  readonly 'x-free'?: true;
  readonly deprecated?: boolean;
}

/** So that a hostile body is not compared for long. */
const MAX_FIELDS = 20;
const MAX_NAME_CHARACTERS = 64;

/** Finds the fields that no form of the schema has, at any depth; at most 20 of them. */
export const findUnknownFields = (schema: TSchema, body: unknown): UnknownField[] => {
  const unknownFields: UnknownField[] = [];
  collect([schema as SchemaKeywords], body, [], unknownFields);
  return unknownFields;
};

const collect = (
  schemas: readonly SchemaKeywords[],
  value: unknown,
  path: Path,
  unknownFields: UnknownField[],
): void => {
  const forms = schemas.flatMap((form) => form.anyOf ?? [form]);
  if (Array.isArray(value)) {
    const items = forms.flatMap(({ items: item }) => item ?? []);
    for (const [index, item] of value.entries()) collect(items, item, [...path, index], unknownFields);
    return;
  }
  const objects = forms.flatMap(({ properties }) => (properties ? [properties] : []));
  if (!isObject(value) || objects.length === 0 || forms.some((form) => form['x-free'])) return;
  const current = objects.flatMap((properties) => Object.entries(properties).filter(([, field]) => !field.deprecated));
  const knownNames = [...new Set(current.map(([name]) => name))];
  for (const [name, part] of Object.entries(value)) {
    if (unknownFields.length >= MAX_FIELDS) return;
    const fields = objects.flatMap((properties) => (Object.hasOwn(properties, name) ? [properties[name]!] : []));
    if (fields.length > 0) collect(fields, part, [...path, name], unknownFields);
    else unknownFields.push(unknown(path, name, knownNames));
  }
};

const unknown = (path: Path, name: string, knownNames: readonly string[]): UnknownField => {
  const short = name.length > MAX_NAME_CHARACTERS ? `${name.slice(0, MAX_NAME_CHARACTERS)}…` : name;
  const meant = nearest(name, knownNames);
  return { name: formatPath([...path, short]), meant: meant && formatPath([...path, meant]) };
};

/** The known name with the fewest differences, if a third of its letters or less differ. */
const nearest = (name: string, knownNames: readonly string[]): string | undefined => {
  if (name.length > MAX_NAME_CHARACTERS) return undefined;
  const plain = withoutStyle(name);
  const [best] = knownNames
    .map((candidate) => ({ candidate, edits: distance(plain, withoutStyle(candidate)) }))
    .filter(({ candidate, edits }) => edits <= candidate.length / 3)
    .sort((a, b) => a.edits - b.edits);
  return best?.candidate;
};

/** `playbackPolicies` and `playback-policies` are as near as they can be. */
const withoutStyle = (name: string): string => name.replaceAll(/[_-]/g, '').toLowerCase();

/** Insertions, deletions, replacements, and swaps of neighbors (optimal string alignment). */
const distance = (a: string, b: string): number => {
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const above = rows[i - 1]!;
      const edits = [row[j - 1]! + 1, above[j]! + 1, above[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)];
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) edits.push(rows[i - 2]![j - 2]! + 1);
      row.push(Math.min(...edits));
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
};

/** `{field} is not a known field`, with the field that was probably meant. */
export const sentenceOf = ({ name, meant }: UnknownField): string =>
  `${name} is not a known field${meant === undefined ? '' : `; did you mean ${meant}?`}`;

const MAX_NAMED = 5;

/** The sentences as the value of a header: at most five, in printable ASCII. */
export const warningOf = (fields: readonly UnknownField[]): string => {
  const sentences = fields.slice(0, MAX_NAMED).map((field) => sentenceOf(field).replaceAll(/[^\x20-\x7e]/gu, '?'));
  const rest = fields.length - sentences.length;
  return [...sentences, ...(rest > 0 ? [`and ${rest} more`] : [])].join(', ');
};
