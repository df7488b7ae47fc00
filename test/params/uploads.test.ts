import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, startApi } from '../support/servers/api.js';
import { expectError, NOT_FOUND } from '../support/wire/expect-error.js';

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.stop());

const create = (body?: unknown) => api.call('POST', '/video/v1/uploads', body);
const created = async (body?: unknown) => {
  const response = await create(body);
  expect(response.status).toBe(201);
  return (await response.json()).data;
};
const settings = (new_asset_settings: unknown) => ({ new_asset_settings });
const MAIN_URL = 'new_asset_settings.inputs[0].url must be omitted for direct uploads';
const url = 'https://media.example.org/walk.mp4';
const MP4 = 'none, capped-1080p, audio-only, audio-only,capped-1080p, standard';

/** Name, body, messages in order. */
const refused: [string, unknown, string[]][] = [
  ['body of a wrong type', [], ['Request body must be a JSON object']],
  ['origin of a wrong type', { cors_origin: 7 }, ['cors_origin must be a string']],
  ['origins in a list', { cors_origin: ['*'] }, ['cors_origin must be a string']],
  ['origin with NUL', { cors_origin: 'a\0' }, ['cors_origin must be valid Unicode text without NUL']],
  ['time too short', { timeout: 59 }, ['timeout must be between 60 and 604800']],
  ['time too long', { timeout: 604_801 }, ['timeout must be between 60 and 604800']],
  ['time negative', { timeout: -3600 }, ['timeout must be between 60 and 604800']],
  ['time in parts', { timeout: 60.5 }, ['timeout must be an integer']],
  ['time as text', { timeout: '3600' }, ['timeout must be an integer']],
  ['test of a wrong type', { test: 'true' }, ['test must be a boolean']],
  ['settings of a wrong type', settings('x'), ['new_asset_settings must be an object']],
  ['settings in a list', settings([]), ['new_asset_settings must be an object']],
  [
    'passthrough too long',
    settings({ passthrough: 'x'.repeat(256) }),
    ['new_asset_settings.passthrough must be at most 255 characters'],
  ],
  [
    'policy not known',
    settings({ playback_policies: ['open'] }),
    ['new_asset_settings.playback_policies[0] must be one of: public, signed'],
  ],
  [
    'deprecated policy not known',
    settings({ playback_policy: 'open' }),
    ['new_asset_settings.playback_policy[0] must be one of: public, signed'],
  ],
  [
    'drm among the policies',
    settings({ playback_policies: ['drm'] }),
    ['new_asset_settings.playback_policies cannot contain drm; use advanced_playback_policies'],
  ],
  [
    'drm without configuration',
    settings({ advanced_playback_policies: [{ policy: 'drm' }] }),
    ['new_asset_settings.advanced_playback_policies[0].drm_configuration_id is required when policy is drm'],
  ],
  [
    'drm for the lowest quality',
    settings({ advanced_playback_policies: [{ policy: 'drm', drm_configuration_id: 'c' }] }),
    ['DRM playback requires video_quality plus or premium'],
  ],
  [
    'quality not known',
    settings({ video_quality: 'best' }),
    [expect.stringMatching(/^new_asset_settings\.video_quality must be one of: /)],
  ],
  [
    'title too long',
    settings({ meta: { title: 'x'.repeat(513) } }),
    ['new_asset_settings.meta.title must be at most 512 characters'],
  ],
  [
    'both ways of MP4',
    settings({ mp4_support: 'standard', static_renditions: [{ resolution: 'highest' }] }),
    ['new_asset_settings.mp4_support and new_asset_settings.static_renditions cannot be used together'],
  ],
  [
    'renditions twice',
    settings({ static_renditions: [{ resolution: '720p' }, { resolution: '720p' }] }),
    ['new_asset_settings.static_renditions contains a duplicate resolution: 720p'],
  ],
  ['MP4 not known', settings({ mp4_support: 'x' }), [`new_asset_settings.mp4_support must be one of: ${MP4}`]],
  ['inputs of a wrong type', settings({ inputs: 7 }), ['new_asset_settings.inputs must be an array']],
  ['input of a wrong type', settings({ inputs: ['x'] }), ['new_asset_settings.inputs[0] must be an object']],
  ['a main address', settings({ inputs: [{ url }] }), [MAIN_URL]],
  ['a main address that is none', settings({ inputs: [{ url: 'x' }] }), [MAIN_URL]],
  ['a main address of a wrong type', settings({ inputs: [{ url: 7 }] }), [MAIN_URL]],
  ['a main address as text', settings({ inputs: url }), [MAIN_URL]],
  ['a deprecated main address', settings({ input: url }), [MAIN_URL]],
  ['a deprecated list with a main address', settings({ input: [{ url }] }), [MAIN_URL]],
  ['a deprecated object with a main address', settings({ input: { url } }), [MAIN_URL]],
  ['a main address with the language of its audio', settings({ inputs: [{ url, language_code: 'fr' }] }), [MAIN_URL]],
  ['a main address of audio', settings({ inputs: [{ url, type: 'audio' }] }), [MAIN_URL]],
  ['a main address with empty overlay settings', settings({ inputs: [{ url, overlay_settings: {} }] }), [MAIN_URL]],
  [
    'subtitles without their type, where the main input is implied',
    settings({ inputs: [{ url, text_type: 'subtitles', language_code: 'fr' }] }),
    ['new_asset_settings.inputs[0].type is required'],
  ],
  [
    'what lacks in subtitles, where the main input is implied',
    settings({
      inputs: [
        { url, type: 'text' },
        { url, type: 'video' },
      ],
    }),
    [
      'new_asset_settings.inputs[0].text_type is required for text tracks',
      'new_asset_settings.inputs[0].language_code is required',
      'new_asset_settings.inputs[1].type video is only allowed for the first input',
    ],
  ],
  ['a clip', settings({ inputs: [{ url: `mux://assets/${'A'.repeat(40)}` }] }), [MAIN_URL]],
  [
    'start and end without a clip',
    settings({ inputs: [{ start_time: 1, end_time: 2 }] }),
    [
      'new_asset_settings.inputs[0].start_time is only allowed when url refers to an asset',
      'new_asset_settings.inputs[0].end_time is only allowed when url refers to an asset',
    ],
  ],
  [
    'a first input of text',
    settings({ inputs: [{ type: 'text' }] }),
    ['new_asset_settings.inputs[0].type must be video or audio'],
  ],
  [
    'an overlay that is the file',
    settings({ inputs: [{ overlay_settings: { width: '10%' } }] }),
    ['new_asset_settings.inputs[0].overlay_settings is not allowed on the main input'],
  ],
  [
    'a further input without address',
    settings({ inputs: [{}, { type: 'text' }] }),
    [
      'new_asset_settings.inputs[1].url is required',
      'new_asset_settings.inputs[1].text_type is required for text tracks',
      'new_asset_settings.inputs[1].language_code is required',
    ],
  ],
  [
    'a further input with a bad address',
    settings({ inputs: [{}, { url: 'x' }] }),
    ['new_asset_settings.inputs[1].url must be a valid URL'],
  ],
  [
    'a directive that does not exist',
    settings({ directives: [{ id: 'drv_1' }] }),
    ['new_asset_settings.directives[0].id does not refer to an existing directive'],
  ],
  [
    'several things, in the order of the body',
    { test: 1, new_asset_settings: { meta: 1, passthrough: 2 }, timeout: 1, cors_origin: 2 },
    [
      'test must be a boolean',
      'new_asset_settings.meta must be an object',
      'new_asset_settings.passthrough must be a string',
      'timeout must be between 60 and 604800',
      'cors_origin must be a string',
    ],
  ],
];

describe('POST /video/v1/uploads refuses', () => {
  it.each(refused)('%s', async (_name, body, messages) => {
    await expectError(await create(body), 400, 'invalid_parameters', messages);
  });

  it('whatever the creation of an asset refuses, before a byte is sent', async () => {
    const url = 'https://media.example.org/walk.mp4';
    for (const wish of [
      { generate_shots: true },
      { master_access: 'temporary' },
      { mp4_support: 'standard' },
      { static_renditions: [{ resolution: 'highest' }] },
    ]) {
      const asset = await api.call('POST', '/video/v1/assets', { inputs: url, ...wish });
      const upload = await create(settings(wish));
      expect(upload.status).toBe(asset.status);
      if (asset.status === 201) continue;
      const messages: string[] = (await asset.json()).error.messages;
      expect((await upload.json()).error.messages).toEqual(messages.map((text) => `new_asset_settings.${text}`));
    }
  });

  it('what is no JSON', async () => {
    await expectError(await create('{'), 400, 'invalid_parameters', ['Request body is not valid JSON']);
  });

  it('a token that may only read', async () => {
    const token = await api.newToken({ name: 'reader', permissions: ['video:read'] });
    expect((await api.callAs(token, 'POST', '/video/v1/uploads', {})).status).toBe(403);
  });
});

describe('POST /video/v1/uploads answers', () => {
  const defaults = { status: 'waiting', timeout: 3600, cors_origin: '*', new_asset_settings: {} };
  const id = expect.stringMatching(/^[A-Za-z0-9]{40}$/);
  const address = expect.stringMatching(
    /^http:\/\/127\.0\.0\.1:\d+\/u\/[A-Za-z0-9]{40}\?expires=\d{10}&sig=[\w-]{43}$/,
  );

  it.each<[string, unknown, object]>([
    ['nothing given', undefined, {}],
    ['an empty body', {}, {}],
    ['nulls', { cors_origin: null, timeout: null, test: null, new_asset_settings: null }, {}],
    ['unknown fields', { anything: 'else', new_asset_settings: { more: '\0' } }, {}],
    ['a shortest time', { timeout: 60 }, { timeout: 60 }],
    ['a longest time', { timeout: 604_800 }, { timeout: 604_800 }],
    ['an origin', { cors_origin: 'https://studio.example.org' }, { cors_origin: 'https://studio.example.org' }],
    ['any text as origin', { cors_origin: 'studio.example.org' }, { cors_origin: 'studio.example.org' }],
    ['a test', { test: true }, { test: true }],
    ['no test', { test: false }, {}],
  ])('%s', async (_name, body, expected) => {
    expect(await created(body)).toEqual({ id, url: address, ...defaults, ...expected });
  });

  it.each<[string, object]>([
    ['new names', { playback_policies: ['public', 'signed'], video_quality: 'plus' }],
    ['deprecated names', { playback_policy: ['public'], encoding_tier: 'smart' }],
    ['an empty main input', { inputs: [{}] }],
    ['options of the main input', { inputs: [{ name: 'Original', language_code: 'en' }] }],
    ['a deprecated list', { input: [{ name: 'Original' }] }],
    [
      'text and objects',
      { passthrough: 'x', meta: { title: 't', external_id: '' }, normalize_audio: true, test: true },
    ],
  ])('with settings as they were written: %s', async (_name, written) => {
    expect((await created(settings(written))).new_asset_settings).toEqual(written);
  });

  it.each<[string, object, object]>([
    ['a policy', { playback_policies: 'public' }, { playback_policies: ['public'] }],
    ['a deprecated policy', { playback_policy: 'signed' }, { playback_policy: ['signed'] }],
    ['a deprecated input', { input: { name: 'Original' } }, { input: [{ name: 'Original' }] }],
    ['no inputs', { inputs: [], input: [] }, {}],
    [
      'no inputs beside deprecated ones',
      { inputs: [], input: [{ name: 'Original' }] },
      { input: [{ name: 'Original' }] },
    ],
    ['an overlay without settings', { inputs: [{ overlay_settings: {} }] }, { inputs: [{}] }],
  ])('with lists in full: %s', async (_name, written, shown) => {
    expect((await created(settings(written))).new_asset_settings).toEqual(shown);
  });

  it.each<[string, object]>([
    [
      'subtitles',
      { url: 'https://media.example.org/a.vtt', type: 'text', text_type: 'subtitles', language_code: 'fr' },
    ],
    ['audio', { url: 'https://media.example.org/a.m4a', type: 'audio', language_code: 'fr' }],
    ['an overlay', { url: 'https://media.example.org/a.png', overlay_settings: { width: '10%' } }],
  ])('with the settings as written when the first input is %s beside the file', async (_name, input) => {
    for (const written of [{ inputs: [input] }, { input: [input, { ...input, name: 'Second' }] }])
      expect((await created(settings(written))).new_asset_settings).toEqual(written);
  });

  it('with lists, also where an older server stored a single value', async () => {
    const { id } = await created();
    await api.database.queryable
      .updateTable('upload')
      .set({
        new_asset_settings: JSON.stringify({
          playback_policy: 'public',
          playback_policies: 'signed',
          passthrough: 'x',
        }),
      })
      .where('id', '=', id)
      .execute();
    const shown = { playback_policy: ['public'], playback_policies: ['signed'], passthrough: 'x' };
    const list = await (await api.call('GET', '/video/v1/uploads?limit=1')).json();
    expect(list.data[0]).toMatchObject({ id, new_asset_settings: shown });
    const one = await (await api.call('GET', `/video/v1/uploads/${id}`)).json();
    expect(one.data.new_asset_settings).toEqual(shown);
    const cancelled = await (await api.call('PUT', `/video/v1/uploads/${id}/cancel`)).json();
    expect(cancelled.data.new_asset_settings).toEqual(shown);
    const events = await (await api.call('GET', `/system/v1/events?object_id=${id}&limit=1`)).json();
    expect(events.data[0].data.new_asset_settings).toEqual({ playback_policies: ['signed'], passthrough: 'x' });
  });

  it('with an address that is good for the time that was asked for', async () => {
    const before = Math.floor(Date.now() / 1000);
    const { url: address } = await created({ timeout: 120 });
    const expires = Number(new URL(address).searchParams.get('expires'));
    expect(expires).toBeGreaterThanOrEqual(before + 120);
    expect(expires).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000) + 120);
  });
});

describe('GET and PUT of an upload', () => {
  it('know no other ids, nor uploads of another environment', async () => {
    const { id } = await created();
    const environment = await api.newEnvironment('other');
    const stranger = await api.newToken({ name: 'stranger', environmentId: environment.id });
    const unknown = [NOT_FOUND];
    for (const path of ['A'.repeat(40), 'x', 'a%00b']) {
      await expectError(await api.call('GET', `/video/v1/uploads/${path}`), 404, 'not_found', unknown);
      await expectError(await api.call('PUT', `/video/v1/uploads/${path}/cancel`), 404, 'not_found', unknown);
    }
    await expectError(await api.callAs(stranger, 'GET', `/video/v1/uploads/${id}`), 404, 'not_found', unknown);
    await expectError(await api.callAs(stranger, 'PUT', `/video/v1/uploads/${id}/cancel`), 404, 'not_found', unknown);
    expect((await (await api.callAs(stranger, 'GET', '/video/v1/uploads')).json()).data).toEqual([]);
  });
});

describe('GET /video/v1/uploads', () => {
  const list = (query: string) => api.call('GET', `/video/v1/uploads${query}`);
  /** Newest first. */
  const ids: string[] = [];
  beforeAll(async () => {
    await api.database.queryable.deleteFrom('upload').execute();
    for (let count = 0; count < 7; count++) ids.unshift((await created()).id);
    // All in one millisecond, so that only the sequence tells them apart.
    await api.database.queryable
      .updateTable('upload')
      .set({ created_at: new Date(1_767_225_600_000) })
      .execute();
  });

  it.each<[string, string[]]>([
    ['limit=0', ['limit must be a positive integer']],
    ['limit=-1', ['limit must be a positive integer']],
    ['limit=2.5', ['limit must be a positive integer']],
    ['page=0', ['page must be a positive integer']],
    ['page=x', ['page must be a positive integer']],
    ['page=0&limit=0', ['page must be a positive integer', 'limit must be a positive integer']],
  ])('refuses %s', async (query, messages) => {
    await expectError(await list(`?${query}`), 400, 'invalid_parameters', messages);
  });

  it.each<[string, (all: string[]) => string[]]>([
    ['', (all) => all],
    ['?limit=&page=', (all) => all],
    ['?limit=3', (all) => all.slice(0, 3)],
    ['?limit=3&page=2', (all) => all.slice(3, 6)],
    ['?limit=3&page=3', (all) => all.slice(6)],
    ['?limit=3&page=4', () => []],
    ['?page=99999999999999999999999', () => []],
    ['?limit=99999999999999999999999', (all) => all],
    ['?limit=1&limit=2', (all) => all.slice(0, 2)],
    ['?cursor=x', (all) => all],
    ['?unknown=1', (all) => all],
  ])('answers %s', async (query, expected) => {
    const response = await list(query);
    expect(response.status).toBe(200);
    const body = await response.json();
    expect(Object.keys(body)).toEqual(['data']);
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual(expected(ids));
  });

  it('shows uploads in every state, with an address only while they wait', async () => {
    const states = ['asset_created', 'cancelled', 'errored', 'timed_out'] as const;
    for (const [at, status] of states.entries())
      await api.database.queryable.updateTable('upload').set({ status }).where('id', '=', ids[at]!).execute();
    const { data } = await (await list('')).json();
    expect(data.slice(0, 5).map(({ status }: { status: string }) => status)).toEqual([...states, 'waiting']);
    expect(data.map((upload: object) => 'url' in upload)).toEqual([false, false, false, false, true, true, true]);
    expect(data.map((upload: object) => 'asset_id' in upload)).toEqual([true, ...Array(6).fill(false)]);
  });

  it('is an empty list, not an error, without uploads; at most 100 at once', async () => {
    const environment = await api.newEnvironment('empty');
    const token = await api.newToken({ name: 'empty', environmentId: environment.id });
    expect(await (await api.callAs(token, 'GET', '/video/v1/uploads')).json()).toEqual({ data: [] });
    const [row] = await api.database.queryable.selectFrom('upload').selectAll().limit(1).execute();
    const { seq: _, ...copy } = row!;
    const copies = Array.from({ length: 101 }, (_unused, at) => ({ ...copy, id: String(at).padStart(40, 'c') }));
    await api.database.queryable
      .insertInto('upload')
      .values(copies as never)
      .execute();
    expect((await (await list('?limit=1000')).json()).data).toHaveLength(100);
    expect((await (await list('')).json()).data).toHaveLength(25);
  });
});
