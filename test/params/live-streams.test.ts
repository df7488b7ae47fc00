import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Api, startApi } from '../support/servers/api.js';
import { expectError, NOT_FOUND } from '../support/wire/expect-error.js';

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.stop());

const PATH = '/video/v1/live-streams';
const UNKNOWN = 'A'.repeat(40);
const ID = /^[A-Za-z0-9]{40}$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const create = async (body: object = {}) => {
  const response = await api.call('POST', PATH, body);
  expect(response.status).toBe(201);
  return (await response.json()).data;
};
const read = async (id: string) => (await (await api.call('GET', `${PATH}/${id}`)).json()).data;

const CHANGEABLE: [string, object, string[]][] = [
  ['an unknown latency', { latency_mode: 'none' }, ['latency_mode must be one of: standard, reduced, low']],
  ['a latency of a wrong type', { latency_mode: 1 }, ['latency_mode must be a string']],
  ['a negative reconnect window', { reconnect_window: -1 }, ['reconnect_window must be between 0 and 1800']],
  ['a long reconnect window', { reconnect_window: 1800.5 }, ['reconnect_window must be between 0 and 1800']],
  ['a reconnect window of a wrong type', { reconnect_window: '60' }, ['reconnect_window must be a number']],
  [
    'a slate choice of a wrong type',
    { use_slate_for_standard_latency: 1 },
    ['use_slate_for_standard_latency must be a boolean'],
  ],
  ['a slate that is no URL', { reconnect_slate_url: 'slate.png' }, ['reconnect_slate_url must be a valid URL']],
  ['a slate in a bucket', { reconnect_slate_url: 's3://b/k' }, ['reconnect_slate_url must be a valid URL']],
  ['a short duration', { max_continuous_duration: 59 }, ['max_continuous_duration must be between 60 and 43200']],
  ['a long duration', { max_continuous_duration: 43201 }, ['max_continuous_duration must be between 60 and 43200']],
  ['a broken duration', { max_continuous_duration: 60.5 }, ['max_continuous_duration must be an integer']],
  ['a long passthrough', { passthrough: 'x'.repeat(256) }, ['passthrough must be at most 255 characters']],
  ['a passthrough with NUL', { passthrough: '\0' }, ['passthrough must be valid Unicode text without NUL']],
  ['meta of a wrong type', { meta: 'title' }, ['meta must be an object']],
  ['a long title', { meta: { title: 'x'.repeat(513) } }, ['meta.title must be at most 512 characters']],
  ['settings of a wrong type', { new_asset_settings: [] }, ['new_asset_settings must be an object']],
  [
    'basic quality',
    { new_asset_settings: { video_quality: 'basic' } },
    ['new_asset_settings.video_quality must be one of: plus, premium'],
  ],
  [
    'an unknown mp4_support',
    { new_asset_settings: { mp4_support: 'all' } },
    [
      'new_asset_settings.mp4_support must be one of: none, capped-1080p, audio-only, audio-only,capped-1080p, standard',
    ],
  ],
  [
    'an unknown master_access',
    { new_asset_settings: { master_access: 'forever' } },
    ['new_asset_settings.master_access must be one of: none, temporary'],
  ],
];

const REFUSED: [string, unknown, string[]][] = [
  ['a list for a body', [], ['Request body must be a JSON object']],
  ...CHANGEABLE,
  ['an unknown policy', { playback_policies: ['all'] }, ['playback_policies[0] must be one of: public, signed']],
  [
    'DRM among simple policies',
    { playback_policies: ['drm'] },
    ['playback_policies cannot contain drm; use advanced_playback_policies'],
  ],
  [
    'DRM without a configuration',
    { advanced_playback_policies: [{ policy: 'drm' }] },
    ['advanced_playback_policies[0].drm_configuration_id is required when policy is drm'],
  ],
  [
    'DRM with an unknown configuration',
    { playback_policies: ['public'], advanced_playback_policies: [{ policy: 'drm', drm_configuration_id: UNKNOWN }] },
    ['advanced_playback_policies[0].drm_configuration_id does not refer to an existing DRM configuration'],
  ],
  [
    'a URL for the recording',
    { new_asset_settings: { inputs: [{ url: 'https://x.test/a.mp4' }] } },
    ['new_asset_settings.inputs[0].url must be omitted for live streams'],
  ],
  [
    'a basic encoding tier',
    { new_asset_settings: { encoding_tier: 'baseline' } },
    ['new_asset_settings.encoding_tier must be one of: smart, premium'],
  ],
  [
    'two kinds of files',
    { new_asset_settings: { mp4_support: 'standard', static_renditions: [{ resolution: '720p' }] } },
    ['new_asset_settings.mp4_support and new_asset_settings.static_renditions cannot be used together'],
  ],
  [
    'an unknown directive',
    { new_asset_settings: { directives: [{ id: 'drv_x' }] } },
    ['new_asset_settings.directives[0].id does not refer to an existing directive'],
  ],
  ['audio_only of a wrong type', { audio_only: 'yes' }, ['audio_only must be a boolean']],
  ['test of a wrong type', { test: 0 }, ['test must be a boolean']],
  ['a deprecated flag of a wrong type', { low_latency: 'yes' }, ['low_latency must be a boolean']],
  [
    'two generated subtitles',
    { generated_subtitles: [{}, {}] },
    ['generated_subtitles must contain at most 1 entries'],
  ],
  [
    'a language without recognition',
    { generated_subtitles: [{ language_code: 'ja' }] },
    ['generated_subtitles[0].language_code must be one of: en, en-US, es, fr, de, pt, it'],
  ],
  [
    'an unknown vocabulary',
    { generated_subtitles: [{ transcription_vocabulary_ids: [UNKNOWN] }] },
    ['generated_subtitles[0].transcription_vocabulary_ids[0] does not refer to an existing transcription vocabulary'],
  ],
  [
    'an unknown channel',
    { embedded_subtitles: [{ language_channel: 'cc5' }] },
    ['embedded_subtitles[0].language_channel must be one of: cc1, cc2, cc3, cc4'],
  ],
  [
    'a channel twice',
    { embedded_subtitles: [{}, { language_channel: 'cc1' }] },
    ['embedded_subtitles contains a duplicate language_channel: cc1'],
  ],
  [
    'a malformed language',
    { embedded_subtitles: [{ language_code: 'english!' }] },
    ['embedded_subtitles[0].language_code must be a valid BCP 47 language code'],
  ],
  ['a target without a URL', { simulcast_targets: [{}] }, ['simulcast_targets[0].url is required']],
  [
    'a target of another protocol',
    { simulcast_targets: [{ url: 'https://x.test/app' }] },
    ['simulcast_targets[0].url must be a valid URL'],
  ],
  [
    'seven targets',
    { simulcast_targets: Array(7).fill({ url: 'rtmp://x.test/app' }) },
    ['simulcast_targets must contain at most 6 entries'],
  ],
  [
    'everything at once, in body order',
    { test: 1, latency_mode: 'x', new_asset_settings: { video_quality: 1 }, playback_policy: ['x'] },
    [
      'test must be a boolean',
      'latency_mode must be one of: standard, reduced, low',
      'new_asset_settings.video_quality must be a string',
      'playback_policy[0] must be one of: public, signed',
    ],
  ],
];

describe('POST /video/v1/live-streams', () => {
  it.each(REFUSED)('refuses %s', async (_, body, messages) => {
    await expectError(await api.call('POST', PATH, body), 400, 'invalid_parameters', messages);
  });

  it('makes an idle live stream with defaults, of nothing', async () => {
    const response = await api.call('POST', PATH);
    expect(response.status).toBe(201);
    expect((await response.json()).data).toEqual({
      id: expect.stringMatching(ID),
      created_at: expect.stringMatching(/^\d+$/),
      stream_key: expect.stringMatching(UUID),
      srt_passphrase: expect.stringMatching(ID),
      status: 'idle',
      latency_mode: 'standard',
      max_continuous_duration: 43200,
      reconnect_window: 60,
      use_slate_for_standard_latency: false,
      new_asset_settings: {},
    });
  });

  it('returns every setting', async () => {
    const vocabulary = await api.sdk().video.transcriptionVocabularies.create({ phrases: ['HLS'] });
    const body = {
      playback_policies: ['public', 'signed'],
      new_asset_settings: {
        playback_policies: ['signed'],
        passthrough: 'p',
        meta: { title: 't' },
        video_quality: 'premium',
        static_renditions: [{ resolution: 'highest' }],
      },
      latency_mode: 'low',
      reconnect_window: 30.5,
      use_slate_for_standard_latency: true,
      reconnect_slate_url: 'https://x.test/slate.png',
      max_continuous_duration: 60,
      audio_only: true,
      embedded_subtitles: [
        { name: 'CC', passthrough: 'x', language_code: 'de', language_channel: 'cc3' },
        { language_channel: 'cc1' },
      ],
      generated_subtitles: [{ language_code: 'fr', transcription_vocabulary_ids: [vocabulary.id] }],
      simulcast_targets: [
        { url: 'rtmps://x.test:443/app', stream_key: 'k', passthrough: 'y' },
        { url: 'srt://x.test:9000?streamid=a&passphrase=b' },
      ],
      passthrough: 'q',
      meta: { title: 'live' },
      test: true,
    };
    const stream = await create(body);
    const { playback_policies: _, ...shown } = body;
    expect(stream).toMatchObject({
      ...shown,
      low_latency: true,
      playback_ids: [
        { id: expect.stringMatching(ID), policy: 'public' },
        { id: expect.stringMatching(ID), policy: 'signed' },
      ],
      embedded_subtitles: [
        body.embedded_subtitles[0],
        { name: 'English', language_code: 'en', language_channel: 'cc1' },
      ],
      generated_subtitles: [{ name: 'French', ...body.generated_subtitles[0] }],
      simulcast_targets: body.simulcast_targets.map((target) => ({ ...target, status: 'idle' })),
    });
    expect(await read(stream.id)).toEqual(stream);
  });

  it.each([
    [{}, 'standard', 60],
    [{ reduced_latency: true }, 'reduced', 0],
    [{ low_latency: true, reduced_latency: true }, 'low', 0],
    [{ low_latency: true, latency_mode: 'standard' }, 'standard', 60],
    [{ latency_mode: 'reduced', reconnect_window: 5 }, 'reduced', 5],
  ])('reads %j as latency %s with a window of %d s', async (body, latency, window) => {
    expect(await create(body)).toMatchObject({ latency_mode: latency, reconnect_window: window });
  });

  it('shows settings under their current names, and single policies as lists', async () => {
    const settings = { playback_policy: 'public', encoding_tier: 'smart', input: { passthrough: 'x', name: 'Main' } };
    expect(await create({ playback_policy: 'signed', new_asset_settings: settings })).toMatchObject({
      playback_ids: [{ policy: 'signed' }],
      new_asset_settings: { playback_policies: ['public'], video_quality: 'plus', inputs: [{ name: 'Main' }] },
    });
  });
});

describe('PATCH /video/v1/live-streams/{id}', () => {
  let id: string;
  beforeEach(async () => {
    ({ id } = await create({ passthrough: 'a', meta: { title: 'b' }, reconnect_slate_url: 'https://x.test/a.png' }));
  });
  const patch = async (body: unknown) => api.call('PATCH', `${PATH}/${id}`, body);

  it.each(CHANGEABLE)('refuses %s', async (_, body, messages) => {
    await expectError(await patch(body), 400, 'invalid_parameters', messages);
  });

  it('changes what is given, clears with empty texts, and keeps the rest', async () => {
    const before = await read(id);
    expect((await (await patch({})).json()).data).toEqual(before);
    const changed = {
      latency_mode: 'reduced',
      max_continuous_duration: 90,
      use_slate_for_standard_latency: true,
      new_asset_settings: { video_quality: 'premium', master_access: 'temporary', meta: { title: 'x' } },
    };
    const response = await patch({
      ...changed,
      new_asset_settings: { ...changed.new_asset_settings, passthrough: 'no' },
    });
    expect(response.status).toBe(200);
    // Without a window of its own, that of the new latency applies.
    expect((await response.json()).data).toEqual({ ...before, ...changed, reduced_latency: true, reconnect_window: 0 });
    const { passthrough: _, meta: __, reconnect_slate_url: ___, ...rest } = await read(id);
    const cleared = await patch({ passthrough: '', meta: { title: '' }, reconnect_slate_url: '' });
    expect((await cleared.json()).data).toEqual(rest);
  });

  it('does not combine both kinds of files', async () => {
    const url = `${PATH}/${id}/new-asset-settings/static-renditions`;
    await api.call('PUT', url, { static_renditions: [{ resolution: 'highest' }] });
    await expectError(await patch({ new_asset_settings: { mp4_support: 'standard' } }), 400, 'invalid_parameters', [
      'new_asset_settings.mp4_support and new_asset_settings.static_renditions cannot be used together',
    ]);
    expect((await api.call('DELETE', url)).status).toBe(204);
    expect((await patch({ new_asset_settings: { mp4_support: 'standard' } })).status).toBe(200);
    await expectError(
      await api.call('PUT', url, { static_renditions: [{ resolution: 'highest' }] }),
      400,
      'invalid_parameters',
      ['static_renditions and mp4_support cannot be used together'],
    );
  });
});

describe('parts of a live stream refuse', () => {
  let id: string;
  beforeAll(async () => {
    ({ id } = await create());
  });

  it.each<[string, string, object, string[]]>([
    ['PUT', 'embedded-subtitles', { embedded_subtitles: {} }, ['embedded_subtitles must be an array']],
    [
      'PUT',
      'embedded-subtitles',
      { embedded_subtitles: Array(5).fill({}) },
      ['embedded_subtitles must contain at most 4 entries'],
    ],
    [
      'PUT',
      'generated-subtitles',
      { generated_subtitles: [{ language_code: 'auto' }] },
      ['generated_subtitles[0].language_code must be one of: en, en-US, es, fr, de, pt, it'],
    ],
    [
      'PUT',
      'generated-subtitles',
      { generated_subtitles: [{ transcription_vocabulary_ids: ['x'] }] },
      ['generated_subtitles[0].transcription_vocabulary_ids[0] does not refer to an existing transcription vocabulary'],
    ],
    ['PUT', 'new-asset-settings/static-renditions', {}, ['static_renditions is required']],
    [
      'PUT',
      'new-asset-settings/static-renditions',
      { static_renditions: [{ resolution: '720p' }, { resolution: '720p' }] },
      ['static_renditions contains a duplicate resolution: 720p'],
    ],
    ['POST', 'simulcast-targets', {}, ['url is required']],
    ['POST', 'simulcast-targets', { url: 'rtmp://' }, ['url must be a valid URL']],
    ['POST', 'simulcast-targets', { url: 'rtmp://a b/c' }, ['url must be a valid URL']],
    [
      'POST',
      'simulcast-targets',
      { url: 'rtmp://a/c', passthrough: 'x'.repeat(256) },
      ['passthrough must be at most 255 characters'],
    ],
    ['POST', 'playback-ids', {}, ['policy is required']],
    ['POST', 'playback-ids', { policy: 'all' }, ['policy must be one of: public, signed, drm']],
    [
      'POST',
      'playback-ids',
      { policy: 'drm', drm_configuration_id: UNKNOWN },
      ['drm_configuration_id does not refer to an existing DRM configuration'],
    ],
  ])('%s %s %j', async (method, part, body, messages) => {
    await expectError(await api.call(method, `${PATH}/${id}/${part}`, body), 400, 'invalid_parameters', messages);
  });

  it('a seventh simulcast target', async () => {
    const { id: full } = await create({ simulcast_targets: Array(6).fill({ url: 'rtmp://x.test/app' }) });
    const seventh = await api.call('POST', `${PATH}/${full}/simulcast-targets`, { url: 'rtmp://x.test/app' });
    await expectError(seventh, 400, 'invalid_parameters', ['A live stream can have at most 6 simulcast targets']);
  });
});

describe('GET /video/v1/live-streams', () => {
  it.each([
    ['status=live', ['status must be one of: active, idle, disabled']],
    ['limit=0', ['limit must be a positive integer']],
    ['page=x', ['page must be a positive integer']],
  ])('refuses %s', async (query, messages) => {
    await expectError(await api.call('GET', `${PATH}?${query}`), 400, 'invalid_parameters', messages);
  });

  it('lists the newest first, by status and by stream key, of its own environment', async () => {
    const streams = [await create(), await create(), await create()];
    await api.call('PUT', `${PATH}/${streams[1].id}/disable`);
    const list = async (query: string) =>
      (await (await api.call('GET', `${PATH}?${query}`)).json()).data.map(({ id }: { id: string }) => id);
    const [first, second, third] = streams.map(({ id }) => id);
    expect(await list('limit=3')).toEqual([third, second, first]);
    expect(await list('limit=1&page=2')).toEqual([second]);
    expect(await list('status=disabled')).toEqual([second]);
    expect((await list('status=idle')).slice(0, 2)).toEqual([third, first]);
    expect(await list('status=active')).toEqual([]);
    expect(await list(`stream_key=${streams[0].stream_key}`)).toEqual([first]);
    expect(await list('stream_key=nothing')).toEqual([]);
    const { id: environmentId } = await api.newEnvironment('elsewhere');
    const foreign = await api.callAs(
      await api.newToken({ name: 'foreign', environmentId }),
      'GET',
      `${PATH}?stream_key=${streams[0].stream_key}`,
    );
    expect((await foreign.json()).data).toEqual([]);
  });
});

describe('an unknown or foreign live stream', () => {
  const operations: [string, string, object?][] = [
    ['GET', ''],
    ['PATCH', '', {}],
    ['DELETE', ''],
    ['POST', '/playback-ids', { policy: 'public' }],
    ['GET', `/playback-ids/${UNKNOWN}`],
    ['DELETE', `/playback-ids/${UNKNOWN}`],
    ['POST', '/reset-stream-key'],
    ['PUT', '/complete'],
    ['PUT', '/disable'],
    ['PUT', '/enable'],
    ['PUT', '/embedded-subtitles', {}],
    ['PUT', '/generated-subtitles', {}],
    ['POST', '/simulcast-targets', { url: 'rtmp://x.test/app' }],
    ['GET', `/simulcast-targets/${UNKNOWN}`],
    ['DELETE', `/simulcast-targets/${UNKNOWN}`],
    ['PUT', '/new-asset-settings/static-renditions', { static_renditions: [] }],
    ['DELETE', '/new-asset-settings/static-renditions'],
  ];
  let foreignId: string;
  let foreignToken: string;
  beforeAll(async () => {
    const { id: environmentId } = await api.newEnvironment('foreign');
    foreignToken = await api.newToken({ name: 'foreign', environmentId });
    foreignId = (await (await api.callAs(foreignToken, 'POST', PATH, {})).json()).data.id;
  });

  it.each(operations)('%s %s is not found', async (method, path, body) => {
    for (const id of [UNKNOWN, 'x', foreignId])
      await expectError(await api.call(method, `${PATH}/${id}${path}`, body), 404, 'not_found', [NOT_FOUND]);
    const still = await api.callAs(foreignToken, 'GET', `${PATH}/${foreignId}`);
    expect((await still.json()).data).toMatchObject({ id: foreignId, status: 'idle' });
  });
});
