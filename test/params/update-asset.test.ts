import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Api, startApi } from '../support/servers/api.js';
import { expectError, NOT_FOUND } from '../support/wire/expect-error.js';

let api: Api;
let path: string;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.stop());

const create = async (fields: object = {}): Promise<string> => {
  const body = { inputs: 'https://media.example.org/walk.mp4', ...fields };
  return (await (await api.call('POST', '/video/v1/assets', body)).json()).data.id;
};
const eventsOf = async (assetId: string) => {
  const events = await api.database.queryable
    .selectFrom('event')
    .select(['type', 'body'])
    .where('object_id', '=', assetId)
    .where('type', '=', 'video.asset.updated')
    .orderBy('seq')
    .execute();
  return events.map(({ body }) => JSON.parse(body).data);
};
const setTier = (assetId: string, tier: string) =>
  api.database.queryable.updateTable('asset').set({ resolution_tier: tier }).where('id', '=', assetId).execute();

beforeEach(async () => {
  path = `/video/v1/assets/${await create()}`;
});

const LONG_255 = '𝄞'.repeat(255);
const NOT_YET = 'thumbnail_time can only be set on a ready asset with video';
const OUTSIDE = 'thumbnail_time must be between 0 and the asset duration';

describe('PATCH /video/v1/assets/{id} refuses', () => {
  it.each<[string, unknown, string[]]>([
    ['a list for a body', [], ['Request body must be a JSON object']],
    ['a text for a body', '"x"', ['Request body must be a JSON object']],
    ['a passthrough of a wrong type', { passthrough: 1 }, ['passthrough must be a string']],
    ['a long passthrough', { passthrough: `${LONG_255}x` }, ['passthrough must be at most 255 characters']],
    ['meta of a wrong type', { meta: 'x' }, ['meta must be an object']],
    ['a title of a wrong type', { meta: { title: 1 } }, ['meta.title must be a string']],
    ['a long title', { meta: { title: 'x'.repeat(513) } }, ['meta.title must be at most 512 characters']],
    ['a long creator', { meta: { creator_id: 'x'.repeat(129) } }, ['meta.creator_id must be at most 128 characters']],
    ['a long id', { meta: { external_id: 'x'.repeat(129) } }, ['meta.external_id must be at most 128 characters']],
    ['a thumbnail time of a wrong type', { thumbnail_time: '1' }, ['thumbnail_time must be a number']],
    ['a thumbnail time before it is ready', { thumbnail_time: 0 }, [NOT_YET]],
    [
      'everything at once, in body order',
      { thumbnail_time: true, meta: { title: 1 }, passthrough: 2 },
      ['thumbnail_time must be a number', 'meta.title must be a string', 'passthrough must be a string'],
    ],
  ])('%s', async (_, body, messages) => {
    await expectError(await api.call('PATCH', path, body), 400, 'invalid_parameters', messages);
  });

  it.each([-0.001, 12.346, 1e300])('a thumbnail at %d s of an asset of 12.345 s', async (seconds) => {
    await api.makeReady(path.split('/').at(-1)!, 12.345);
    const response = await api.call('PATCH', path, { thumbnail_time: seconds, passthrough: 'lost' });
    await expectError(response, 400, 'invalid_parameters', [OUTSIDE]);
    const { data } = await (await api.call('GET', path)).json();
    expect(data).not.toHaveProperty('passthrough');
  });

  it('a thumbnail of audio', async () => {
    const id = path.split('/').at(-1)!;
    await api.makeReady(id, 12);
    await setTier(id, 'audio-only');
    await expectError(await api.call('PATCH', path, { thumbnail_time: 1 }), 400, 'invalid_parameters', [NOT_YET]);
  });

  it('an unknown asset before it looks at the body', async () => {
    const unknown = `/video/v1/assets/${'A'.repeat(40)}`;
    await expectError(await api.call('PATCH', unknown, { passthrough: 1 }), 404, 'not_found', [NOT_FOUND]);
  });

  it('an asset of another environment', async () => {
    const { id: environmentId } = await api.newEnvironment('Other');
    const foreign = await api.newToken({ name: 'foreign', environmentId });
    await expectError(await api.callAs(foreign, 'PATCH', path, {}), 404, 'not_found', [NOT_FOUND]);
    await expectError(await api.callAs(foreign, 'DELETE', `${path}/thumbnail-time`), 404, 'not_found', [NOT_FOUND]);
  });
});

describe('PATCH /video/v1/assets/{id}', () => {
  it('changes what is given, key by key, and tells of it', async () => {
    const mux = api.sdk();
    const id = await create({ passthrough: 'p', meta: { title: 'a', external_id: 'e' } });
    const before = await mux.video.assets.retrieve(id);
    const updated = await mux.video.assets.update(id, {
      passthrough: LONG_255,
      meta: { title: 'b', creator_id: 'c' },
    });
    const expected = { ...before, passthrough: LONG_255, meta: { title: 'b', creator_id: 'c', external_id: 'e' } };
    expect(updated).toEqual(expected);
    expect(await mux.video.assets.retrieve(id)).toEqual(expected);
    expect(await eventsOf(id)).toEqual([{ ...expected, created_at: Number(before.created_at) }]);
  });

  it('clears with empty texts; meta goes with its last key', async () => {
    const id = await create({ passthrough: 'p', meta: { title: 'a', external_id: 'e' } });
    const mux = api.sdk();
    const body = { passthrough: '', meta: { title: '' } };
    expect(await mux.video.assets.update(id, body)).toMatchObject({ meta: { external_id: 'e' } });
    const bare = await mux.video.assets.update(id, { meta: { external_id: '' } });
    expect(bare).not.toHaveProperty('passthrough');
    expect(bare).not.toHaveProperty('meta');
    expect(await mux.video.assets.retrieve(id)).toEqual(bare);
  });

  it.each<[string, unknown]>([
    ['no body', undefined],
    ['nothing', {}],
    ['unknown fields', { video_quality: 'premium', test: true, meta: { other: 'x' } }],
    ['nulls', { passthrough: null, meta: null, thumbnail_time: null }],
    ['null inside meta', { meta: { title: null } }],
    ['what is already so', { passthrough: 'p', meta: { title: 'a' } }],
  ])('with %s answers with the asset and tells of nothing', async (_, body) => {
    const id = await create({ passthrough: 'p', meta: { title: 'a' } });
    const before = await (await api.call('GET', `/video/v1/assets/${id}`)).json();
    const response = await api.call('PATCH', `/video/v1/assets/${id}`, body);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual(before);
    expect(await eventsOf(id)).toEqual([]);
  });

  it('leads every change to its end when several come at once', async () => {
    const mux = api.sdk();
    const id = await create();
    await Promise.all([
      mux.video.assets.update(id, { meta: { title: 'a' } }),
      mux.video.assets.update(id, { meta: { creator_id: 'b' } }),
      mux.video.assets.update(id, { meta: { external_id: 'c' }, passthrough: 'd' }),
    ]);
    const asset = await mux.video.assets.retrieve(id);
    expect(asset).toMatchObject({ meta: { title: 'a', creator_id: 'b', external_id: 'c' }, passthrough: 'd' });
    expect(await eventsOf(id)).toHaveLength(3);
  });
});

describe('the thumbnail time', () => {
  it.each([0, 4.5, 12.345])('of %d s is kept, shown and removed', async (seconds) => {
    const mux = api.sdk();
    const id = await create();
    await api.makeReady(id, 12.345);
    await setTier(id, '720p');
    expect(await mux.video.assets.update(id, { thumbnail_time: seconds })).toMatchObject({
      thumbnail_time: seconds,
    });
    expect(await mux.video.assets.retrieve(id)).toMatchObject({ thumbnail_time: seconds });
    expect(await mux.video.assets.deleteThumbnailTime(id)).toBeNull();
    expect(await mux.video.assets.retrieve(id)).not.toHaveProperty('thumbnail_time');
    expect(await mux.video.assets.deleteThumbnailTime(id)).toBeNull();
    expect((await eventsOf(id)).map(({ thumbnail_time }) => thumbnail_time)).toEqual([seconds, undefined]);
  });

  it('of an unknown asset cannot be removed', async () => {
    const unknown = `/video/v1/assets/${'A'.repeat(40)}/thumbnail-time`;
    await expectError(await api.call('DELETE', unknown), 404, 'not_found', [NOT_FOUND]);
  });
});
