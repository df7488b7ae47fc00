import { describe, expect, it } from 'vitest';
import { coreApi } from './openapi/core-api.js';
import { openApiDocument, requestSchemaOf } from './openapi/openapi-document.js';
import { CreateAssetBody } from './schemas/asset.js';
import { findUnknownFields, sentenceOf, warningOf } from './unknown-fields.js';

const sentences = (body: unknown): string[] => findUnknownFields(CreateAssetBody, body).map(sentenceOf);

describe('fields that an operation does not have', () => {
  it.each<[unknown, string[]]>([
    [{ playback_policys: ['public'] }, ['playback_policys is not a known field; did you mean playback_policies?']],
    [{ playbackPolicies: ['public'] }, ['playbackPolicies is not a known field; did you mean playback_policies?']],
    [{ 'video-quality': 'plus' }, ['video-quality is not a known field; did you mean video_quality?']],
    [{ nonsense: 1 }, ['nonsense is not a known field']],
    [{ inputs: [{ url: 'a' }, { ulr: 'b' }] }, ['inputs[1].ulr is not a known field; did you mean inputs[1].url?']],
    [{ input: { ulr: 'b' } }, ['input.ulr is not a known field; did you mean input.url?']],
    [{ meta: { titel: 'x' } }, ['meta.titel is not a known field; did you mean meta.title?']],
    [
      { __proto__: null, constructor: 1, toString: 2 },
      ['constructor', 'toString'].map((n) => `${n} is not a known field`),
    ],
    [{ inputs: 'https://a.example/b.mp4', playback_policy: 'public', test: null }, []],
    ['text', []],
    [[{ a: 1 }], []],
    [null, []],
  ])('%j', (body, expected) => {
    expect(sentences(body)).toEqual(expected);
  });

  it('are none in the examples of the documentation', () => {
    const { paths } = openApiDocument(coreApi) as unknown as {
      paths: Record<string, Record<string, { operationId: string; requestBody?: Example }>>;
    };
    let compared = 0;
    for (const { operationId: id, requestBody } of Object.values(paths).flatMap((path) => Object.values(path))) {
      const example = requestBody?.content['application/json'].example;
      if (example === undefined || !(id in coreApi.operations)) continue;
      compared += 1;
      expect([id, findUnknownFields(requestSchemaOf(coreApi, id)!, example)]).toEqual([id, []]);
    }
    expect(compared).toBeGreaterThan(10);
  });

  it('are bounded in number and length, and safe in a header', () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`${index}`.repeat(5000), 1]));
    const found = findUnknownFields(CreateAssetBody, { 'a\r\nSet-Cookie: b=c\0é👍': 1, ...many });
    expect(found).toHaveLength(20);
    const warning = warningOf(found);
    expect(warning).toMatch(/^[\x20-\x7e]+, and 15 more$/);
    expect(warning.length).toBeLessThan(600);
    expect(warningOf(findUnknownFields(CreateAssetBody, { 'a\r\nb: c': 1 }))).toBe('a??b: c is not a known field');
  });
});

interface Example {
  readonly content: { readonly 'application/json': { readonly example?: unknown } };
}
