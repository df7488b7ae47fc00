import { Compile } from 'typebox/compile';
import { describe, expect, it } from 'vitest';
import { type OpenApiDocument, undocumented } from '#kinora/api/openapi/openapi-document.js';
import type { Operation } from '#kinora/api/operations.js';
import { undocumentedResponse } from '../support/wire/documented-responses.js';
import { wholeApi, wholeDocument } from '../support/wire/whole-api.js';

type Json = Record<string, unknown>;
const document: OpenApiDocument = JSON.parse(JSON.stringify(wholeDocument));
const table: Record<string, Operation> = wholeApi.operations;
const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
);

/** Every object and list in the document with its place. */
const walk = function* (value: unknown, at = '#'): Generator<[string, Json]> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield [at, value as Json];
  for (const [name, part] of Object.entries(value)) yield* walk(part, `${at}/${name.replaceAll('/', '~1')}`);
};
const find = (reference: string): unknown =>
  reference
    .split('/')
    .slice(1)
    .reduce((value: unknown, name) => (value as Json)?.[name.replaceAll('~1', '/')], document);

/** A part of the document with everything that it refers to. */
const written = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(written);
  if (typeof value !== 'object' || value === null) return value;
  if ('$ref' in value) return written(find(String(value.$ref)));
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, written(part)]));
};

/** Schemas of the document, without those of parts of other schemas. */
const schemas = [...walk(document)].filter(([at]) => /\/schema$|^#\/components\/schemas\/\w+$/.test(at));

describe('the OpenAPI document and the table of operations', () => {
  it('tell of the same operations', () => {
    expect(undocumented(wholeApi)).toEqual([]);
    const told = documented.map(({ method, path, operation }) => [operation.operationId, method.toUpperCase(), path]);
    const known = Object.entries(table).map(([id, { method, path }]) => [
      id,
      method,
      path.replaceAll(/:(\w+)/g, '{$1}'),
    ]);
    expect(told.sort()).toEqual(known.sort());
  });

  it('differ in a way that a sentence names', () => {
    const operation: Operation = { method: 'POST', path: '/video/v1/things', success: 201 };
    const described = { tag: 'Assets', summary: 'Make a thing', details: 'Makes one thing.' } as const;
    const sentences = undocumented({ operations: { createThing: operation }, descriptions: {} });
    expect(sentences).toEqual([
      'createThing (POST /video/v1/things) is not described in src/api/openapi: it needs a summary and its schemas',
    ]);
    expect(undocumented({ operations: { createThing: operation }, descriptions: { createThing: described } })).toEqual([
      "createThing (POST /video/v1/things) lacks `body` in src/api/openapi: the schema that validates it, or 'none'",
      'createThing (POST /video/v1/things) lacks `answer` in src/api/openapi: the schema of its answer',
    ]);
    expect(undocumented({ operations: {}, descriptions: { createThing: described } })).toEqual([
      'createThing is described in src/api/openapi but is no operation of src/api/operations.ts',
    ]);
  });
});

describe('the OpenAPI document', () => {
  it('has what the standard asks for', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(document.info).toMatchObject({ title: 'Kinora', version: expect.any(String) });
    expect(document.security).toEqual([{ basic: [] }]);
    expect(document.components.securitySchemes).toMatchObject({ basic: { type: 'http', scheme: 'basic' } });
    const tags = document.tags.map(({ name }) => name);
    for (const { path, method, operation } of documented) {
      const at = `${method} ${path}`;
      expect(path, at).toMatch(/^\/(?:[a-z0-9_-]+|\{\w+\})(?:\/(?:[a-z0-9_-]+|\{\w+\}))*$/);
      expect(operation.summary.length, at).toBeGreaterThan(3);
      expect(tags, at).toEqual(expect.arrayContaining([...operation.tags]));
      const { responses, parameters = [] } = operation;
      expect(Object.keys(responses), at).toEqual(expect.arrayContaining(['401', '429', '500', '503']));
      expect(
        Object.keys(responses).every((status) => /^[1-5]\d\d$/.test(status)),
        at,
      ).toBe(true);
      for (const response of Object.values(responses)) {
        expect('description' in response || '$ref' in response, at).toBe(true);
      }
      // Exactly the parameters of the path, each required, and no name twice.
      const inPath = parameters.filter((parameter) => parameter.in === 'path');
      expect(
        inPath.map(({ name }) => `{${name}}`),
        at,
      ).toEqual(path.match(/\{\w+\}/g) ?? []);
      expect(
        inPath.every(({ required }) => required === true),
        at,
      ).toBe(true);
      expect(new Set(parameters.map(({ name }) => name)).size, at).toBe(parameters.length);
      expect(
        parameters.every(({ schema }) => 'type' in schema),
        at,
      ).toBe(true);
    }
    const ids = documented.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('refers only to what is there, and has nothing that nobody refers to', () => {
    const references = [...walk(document)].flatMap(([, value]) => (typeof value.$ref === 'string' ? [value.$ref] : []));
    for (const reference of references) expect(find(reference), reference).toBeTypeOf('object');
    for (const part of ['schemas', 'responses'] as const) {
      for (const name of Object.keys(document.components[part]!)) {
        expect(references).toContain(`#/components/${part}/${name}`);
      }
    }
  });

  it('holds schemas that can be compiled, and examples that are valid', () => {
    expect(schemas.length).toBeGreaterThan(50);
    for (const [at, schema] of schemas) {
      expect(() => Compile(written(schema) as never), at).not.toThrow();
      for (const [inner, words] of walk(schema, at)) {
        if (Array.isArray(words.required))
          expect(Object.keys(words.properties as Json), inner).toEqual(
            expect.arrayContaining(words.required as string[]),
          );
        if (typeof words.type === 'string') {
          expect(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'], inner).toContain(words.type);
        }
      }
    }
    const contents = [...walk(document)].filter(([, value]) => 'example' in value && 'schema' in value);
    expect(contents.length).toBeGreaterThan(10);
    for (const [at, { example, schema }] of contents) {
      const checker = Compile(written(schema) as never);
      expect(checker.Check(example), `${at} ${JSON.stringify(checker.Errors(example))}`).toBe(true);
    }
  });

  it('has an example of every answer, with nothing in it that the schema does not name', () => {
    for (const { operation } of documented) {
      const { operationId } = operation;
      const { success } = table[operationId]!;
      if (success === 204) continue;
      const content = operation.responses[success]!.content as { 'application/json': { example?: object } };
      const { example } = content['application/json'];
      expect(example, `${operationId} lacks an example: src/api/openapi/answer-examples.ts`).toBeTypeOf('object');
      expect(undocumentedResponse(operationId, success, JSON.stringify(example))).toBeUndefined();
    }
  });

  const url = 'https://media.example.org/a.vtt';
  const text = { url, type: 'text', text_type: 'subtitles', language_code: 'fr' };
  it.each<[string, string, object, boolean]>([
    ['createAsset', 'short forms', { input: url, playback_policy: 'public' }, true],
    ['createAsset', 'an input without address', { inputs: [{}] }, false],
    ['createUpload', 'nothing', {}, true],
    ['createUpload', 'a file without address', { new_asset_settings: { inputs: [{ name: 'Original' }] } }, true],
    ['createUpload', 'a file and subtitles', { new_asset_settings: { inputs: [{}, text] } }, true],
    ['createUpload', 'an address for the file', { new_asset_settings: { inputs: url } }, false],
  ])('tells of the body of %s with %s', (id, _name, body, isValid) => {
    const { operation } = documented.find(({ operation: { operationId } }) => operationId === id)!;
    const schema = written(operation.requestBody!.content['application/json'].schema);
    expect(Compile(schema as never).Check(body)).toBe(isValid);
  });

  it('shows an example of every body', () => {
    for (const { operation } of documented) {
      const content = operation.requestBody?.content['application/json'];
      if (content) expect(content.example, operation.operationId).toBeTypeOf('object');
    }
  });
});
