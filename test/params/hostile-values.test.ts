import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { insertTracks } from '#kinora/db/tables/assets/track.js';
import { newId } from '#kinora/lib/ids.js';
import { type Api, startApi } from '../support/servers/api.js';
import { expectError, expectNotFound } from '../support/wire/expect-error.js';
import { wholeDocument } from '../support/wire/whole-api.js';

interface Schema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

const url = 'https://media.example.org/walk.mp4';
let api: Api;
/**
 * What the parameters of paths are replaced by: things that exist, where making them takes one
 * request.
 */
const ids: Record<string, string> = {};
beforeAll(async () => {
  api = await startApi();
  const made = async (path: string, body: object) => (await (await api.call('POST', path, body)).json()).data.id;
  ids.assetId = await made('/video/v1/assets', { inputs: url, video_quality: 'plus' });
  await api.makeReady(ids.assetId!, 10);
  ids.trackId = newId();
  const audio = { id: ids.trackId, asset_id: ids.assetId!, type: 'audio', status: 'ready' } as const;
  await insertTracks(api.database.queryable, [audio]);
  ids.uploadId = await made('/video/v1/uploads', {});
  ids.vocabularyId = await made('/video/v1/transcription-vocabularies', { phrases: ['Kinora'] });
  ids.webhookId = await made('/system/v1/webhooks', { address: 'https://hooks.example.org/in' });
  const rules = { referrer: { allowed_domains: ['*'] } };
  const workflows = [{ reference_id: 'a', workflow: 'summarize' }];
  ids.directiveId = await made('/robots/v0/directives', { name: 'n', subject: { type: 'video.asset' }, workflows });
  ids.workflow = 'ask-questions';
  ids.playbackRestrictionId = await made('/video/v1/playback-restrictions', rules);
});
afterAll(() => api?.stop());

const address = (path: string): string => path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? newId());

const operations = Object.entries(wholeDocument.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => {
    const body = operation.requestBody?.content['application/json'];
    return { name: `${method.toUpperCase()} ${path}`, method: method.toUpperCase(), path, operation, body };
  }),
);

/** What every object has: a table that is an object seems to know these. */
const inherited = Object.getOwnPropertyNames(Object.prototype);
/**
 * Texts, and one value of every other kind; objects whose conversion to text or to a number fails.
 */
const values: unknown[] = [
  // All of them are looked up alike; every operation gets all of them below.
  ...['constructor', 'toString', '__proto__'].flatMap((name) => [name, { [name]: 1 }]),
  ...[null, true, false, 0, -1, 1.5, '', '\0', '\ud800', {}, [], [[]], [null], ['public'], [{ toString: 1 }]],
];

/** The least that an operation takes for a schema. */
const least = (schema: Schema): unknown => {
  if (schema.anyOf) return least(schema.anyOf[0]!);
  if (schema.enum) return schema.enum[0];
  if (schema.type === 'array') return [least(schema.items!)];
  if (schema.type === 'object') {
    const required = Object.entries(schema.properties ?? {}).filter(([name]) => schema.required?.includes(name));
    return Object.fromEntries(required.map(([name, property]) => [name, least(property)]));
  }
  return schema.type === 'string' ? url : 1;
};

interface Place {
  readonly at: string;
  readonly bodyWith: (value: unknown) => unknown;
}

/**
 * Every place of a body where one of some texts is asked for; in lists as the first and as a later
 * entry.
 */
const enumPlaces = function* (schema: Schema, at = 'body'): Generator<Place> {
  if (schema.enum) yield { at, bodyWith: (value) => value };
  for (const [index, one] of (schema.anyOf ?? []).entries()) yield* enumPlaces(one, index === 0 ? at : `${at}|`);
  for (const inner of schema.items ? enumPlaces(schema.items) : []) {
    const rest = inner.at.slice('body'.length);
    yield { at: `${at}[0]${rest}`, bodyWith: (value) => [inner.bodyWith(value)] };
    yield { at: `${at}[1]${rest}`, bodyWith: (value) => [least(schema.items!), inner.bodyWith(value)] };
  }
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    for (const inner of enumPlaces(property, `${at}.${name}`)) {
      const whole = least(schema) as object;
      yield { at: inner.at, bodyWith: (value) => ({ ...whole, [name]: inner.bodyWith(value) }) };
    }
  }
};

const places = operations.flatMap(({ name, method, path, body }) =>
  [...(body ? enumPlaces(body.schema as Schema) : [])].map((place) => ({ name, method, path, ...place })),
);

describe('a value that is none of an enumeration is no failure of the server', () => {
  it('wherever one is asked for', () => {
    expect(places.length).toBeGreaterThan(60);
  });

  it.each(places)('$name: $at', async ({ method, path, bodyWith }) => {
    for (const value of values) {
      const response = await api.call(method, address(path), bodyWith(value));
      expect(response.status, `${JSON.stringify(value)}: ${await response.text()}`).toBeLessThan(500);
    }
  });

  it('in the deprecated name of the quality, alone or in an upload', async () => {
    for (const encoding_tier of [{ toString: 1 }, 'toString', ['basic'], 1, true, {}])
      for (const [path, body] of [
        ['/video/v1/assets', { inputs: url, encoding_tier }],
        ['/video/v1/uploads', { new_asset_settings: { encoding_tier } }],
      ] as const)
        expect((await api.call('POST', path, body)).status, JSON.stringify(body)).toBe(400);
  });
});

describe('names that every object has', () => {
  it.each(operations.filter(({ body }) => body))('are unknown fields of $name', async ({ method, path, body }) => {
    const fields = Object.fromEntries(inherited.map((name) => [name, { [name]: [1] }]));
    const lists = Object.keys((body!.schema as Schema).properties ?? {}).map((name) => [name, [fields]]);
    const objects = lists.map(([name]) => [name, fields]);
    for (const sent of [fields, { ...(body!.example ?? {}), ...fields }, ...[lists, objects].map(Object.fromEntries)]) {
      const response = await api.call(method, address(path), sent);
      expect(response.status, await response.text()).toBeLessThan(500);
    }
  });

  // Pages name videos as they like.
  const withIds = operations.filter(({ path }) => path.includes('{') && !path.includes('{videoId}'));
  it.each(withIds)('are no ids: $name', async ({ method, path }) => {
    for (const name of inherited) {
      const response = await api.call(method, path.replaceAll(/\{\w+\}/g, name));
      await expectNotFound(response);
    }
  });
});

describe('a query', () => {
  it.each(operations.filter(({ method }) => method === 'GET'))(
    'of $name is never a failure of the server',
    async (one) => {
      const documented = (one.operation.parameters ?? []).filter((parameter) => parameter.in === 'query');
      // Names that mean nothing go together; a documented one goes alone, because the first wrong
      // value is refused.
      const groups = [...documented.map(({ name }) => [name]), [...inherited, '%00', 'unknown']];
      for (const names of groups)
        for (const value of ['%00', 'a%00b', '%ED%A0%80', '%FF', '%C0%80', '', ...inherited]) {
          const query = names.map((name) => `${name}=${value}&${name}[]=${value}`).join('&');
          const response = await api.call('GET', `${address(one.path)}?${query}`);
          expect(response.status, `${query}: ${await response.text()}`).toBeLessThan(500);
        }
    },
  );

  it.each(['type', 'object_type', 'object_id'])('for events with NUL in %s finds nothing', async (name) => {
    const response = await api.call('GET', `/system/v1/events?${name}=%00`);
    expect([response.status, await response.json()]).toEqual([200, { data: [], next_cursor: null }]);
  });

  it('counts however many parameters come before', async () => {
    const before = 'a=1&'.repeat(1500);
    const response = await api.call('GET', `/video/v1/uploads?${before}limit=x`);
    await expectError(response, 400, 'invalid_parameters', ['limit must be a positive integer']);
  });
});
