import { expect, it } from 'vitest';
import { wholeDocument } from '../support/wire/whole-api.js';

type Json = Record<string, unknown>;
const document: Json = JSON.parse(JSON.stringify(wholeDocument));

const MIN_WORDS = 3;
const isDescribed = (text: unknown): boolean =>
  typeof text === 'string' && text.split(/\s+/).filter((word) => /\w/.test(word)).length >= MIN_WORDS;

const find = (reference: string): Json =>
  reference
    .split('/')
    .slice(1)
    .reduce((value: unknown, name) => (value as Json)[name], document) as Json;
const descriptionOf = (field: Json): unknown =>
  field.description ?? (typeof field.$ref === 'string' ? find(field.$ref).description : undefined);

/**
 * Every field of a body, parameter and header with its place. Examples and enumerations hold none.
 */
const fields = function* (value: unknown, at = '#'): Generator<[string, Json]> {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const [index, part] of value.entries()) yield* fields(part, `${at}/${index}`);
    return;
  }
  const node = value as Json;
  if (typeof node.name === 'string' && typeof node.in === 'string') yield [`${at} ${node.name}`, node];
  for (const [name, part] of Object.entries(node)) {
    if (name === 'example' || name === 'examples' || name === 'enum') continue;
    if (name === 'properties' || name === 'headers') {
      for (const [field, schema] of Object.entries(part as Json)) {
        yield [`${at}/${name}/${field}`, schema as Json];
        yield* fields(schema, `${at}/${name}/${field}`);
      }
    } else yield* fields(part, `${at}/${name}`);
  }
};
const undescribed = (value: unknown): string[] =>
  [...fields(value)].filter(([, field]) => !isDescribed(descriptionOf(field))).map(([at]) => at);

it('describes every field, parameter and header', () => {
  expect([...fields(document)].length).toBeGreaterThan(800);
  expect(undescribed(document)).toEqual([]);
});

it('would notice a field without a description, and one of a word', () => {
  const schema = (field: Json) => ({
    properties: { list: { description: 'A list of things', items: { properties: { field } } } },
  });
  const place = '#/properties/list/items/properties/field';
  expect(undescribed(schema({ type: 'string' }))).toEqual([place]);
  expect(undescribed(schema({ type: 'string', description: 'Seconds' }))).toEqual([place]);
  expect(undescribed(schema({ type: 'string', description: 'Length in seconds' }))).toEqual([]);
  expect(undescribed({ parameters: [{ name: 'page', in: 'query', schema: {} }] })).toEqual(['#/parameters/0 page']);
  expect(undescribed({ headers: { 'Retry-After': { schema: {} } } })).toEqual(['#/headers/Retry-After']);
});

it('describes every operation, schema and group', () => {
  const operations = Object.entries(document.paths as Record<string, Record<string, Json>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [`${method} ${path}`, operation] as const),
  );
  const missing = [
    ...operations.filter(([, { description }]) => !isDescribed(description)),
    ...Object.entries((document.components as { schemas: Json }).schemas as Record<string, Json>).filter(
      ([, { description }]) => !isDescribed(description),
    ),
    ...(document.tags as Json[]).filter(({ description }) => !isDescribed(description)).map((tag) => [tag.name, tag]),
  ].map(([name]) => name);
  expect(missing).toEqual([]);
  for (const [name, { summary }] of operations) expect(String(summary).split(' ').length, name).toBeGreaterThan(1);
});
