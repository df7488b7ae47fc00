import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, startApi } from '../support/servers/api.js';
import { expectError } from '../support/wire/expect-error.js';

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.stop());

const inputs = [{ url: 'https://media.example.org/walk.mp4' }];
const drm = { policy: 'drm', drm_configuration_id: 'c' };
const RESOLUTIONS = 'highest, audio-only, 2160p, 1440p, 1080p, 720p, 540p, 480p, 360p, 270p';
const MP4 = 'none, capped-1080p, audio-only, audio-only,capped-1080p, standard';
const times = (text: string, count: number) => text.repeat(count);

/** Name, fields beside `inputs`, messages in order. */
const refused: [string, object, string[]][] = [
  ['policy not known', { playback_policies: ['open'] }, ['playback_policies[0] must be one of: public, signed']],
  ['single policy not known', { playback_policies: 'open' }, ['playback_policies[0] must be one of: public, signed']],
  [
    'second policy not known',
    { playback_policies: ['public', 'x'] },
    ['playback_policies[1] must be one of: public, signed'],
  ],
  ['policies of a wrong type', { playback_policies: 7 }, ['playback_policies must be an array']],
  ['policy of a wrong type', { playback_policies: [7] }, ['playback_policies[0] must be a string']],
  ['deprecated policies', { playback_policy: ['open'] }, ['playback_policy[0] must be one of: public, signed']],
  [
    'drm among the policies',
    { playback_policies: ['public', 'drm'] },
    ['playback_policies cannot contain drm; use advanced_playback_policies'],
  ],
  [
    'drm as the only policy',
    { playback_policies: 'drm' },
    ['playback_policies cannot contain drm; use advanced_playback_policies'],
  ],
  [
    'too many policies',
    { playback_policies: Array(101).fill('public') },
    ['playback_policies must contain at most 100 entries'],
  ],
  [
    'advanced policies of a wrong type',
    { advanced_playback_policies: {} },
    ['advanced_playback_policies must be an array'],
  ],
  [
    'advanced policy of a wrong type',
    { advanced_playback_policies: ['drm'] },
    ['advanced_playback_policies[0] must be an object'],
  ],
  [
    'advanced policy absent',
    { advanced_playback_policies: [{}] },
    ['advanced_playback_policies[0].policy is required'],
  ],
  [
    'advanced policy not known',
    { advanced_playback_policies: [{ policy: 'x' }] },
    ['advanced_playback_policies[0].policy must be one of: public, signed, drm'],
  ],
  [
    'configuration without drm',
    { advanced_playback_policies: [{ policy: 'signed', drm_configuration_id: 'c' }] },
    ['advanced_playback_policies[0].drm_configuration_id is only allowed when policy is drm'],
  ],
  [
    'drm without configuration',
    { video_quality: 'plus', advanced_playback_policies: [{ policy: 'drm' }] },
    ['advanced_playback_policies[0].drm_configuration_id is required when policy is drm'],
  ],
  [
    'drm without configuration and quality',
    { advanced_playback_policies: [{ policy: 'drm' }] },
    ['advanced_playback_policies[0].drm_configuration_id is required when policy is drm'],
  ],
  [
    'configuration of a wrong type',
    { video_quality: 'plus', advanced_playback_policies: [{ policy: 'drm', drm_configuration_id: 1 }] },
    ['advanced_playback_policies[0].drm_configuration_id must be a string'],
  ],
  [
    'configuration not known',
    { video_quality: 'plus', advanced_playback_policies: [{ policy: 'public' }, drm] },
    ['advanced_playback_policies[1].drm_configuration_id does not refer to an existing DRM configuration'],
  ],
  [
    'drm with basic',
    { video_quality: 'basic', advanced_playback_policies: [drm] },
    ['DRM playback requires video_quality plus or premium'],
  ],
  [
    'drm with the default quality',
    { advanced_playback_policies: [drm] },
    ['DRM playback requires video_quality plus or premium'],
  ],
  ['passthrough too long', { passthrough: times('a', 256) }, ['passthrough must be at most 255 characters']],
  [
    'passthrough too long in code points',
    { passthrough: times('😀', 256) },
    ['passthrough must be at most 255 characters'],
  ],
  ['av1 unknown', { av1: 'on' }, ['av1 must be one of: auto, always, never']],
  ['passthrough of a wrong type', { passthrough: 5 }, ['passthrough must be a string']],
  ['passthrough with NUL', { passthrough: 'a\0' }, ['passthrough must be valid Unicode text without NUL']],
  ['passthrough with half a pair', { passthrough: '\ud83d' }, ['passthrough must be valid Unicode text without NUL']],
  ['title too long', { meta: { title: times('a', 513) } }, ['meta.title must be at most 512 characters']],
  [
    'creator id too long',
    { meta: { creator_id: times('a', 129) } },
    ['meta.creator_id must be at most 128 characters'],
  ],
  [
    'external id too long',
    { meta: { external_id: times('a', 129) } },
    ['meta.external_id must be at most 128 characters'],
  ],
  ['meta of a wrong type', { meta: 'x' }, ['meta must be an object']],
  ['meta as a list', { meta: [] }, ['meta must be an object']],
  ['title of a wrong type', { meta: { title: 1 } }, ['meta.title must be a string']],
  ['mp4_support not known', { mp4_support: 'x' }, [`mp4_support must be one of: ${MP4}`]],
  ['mp4_support of a wrong type', { mp4_support: true }, ['mp4_support must be a string']],
  ['master_access not known', { master_access: 'x' }, ['master_access must be one of: none, temporary']],
  ['tier not known', { max_resolution_tier: '720p' }, ['max_resolution_tier must be one of: 1080p, 1440p, 2160p']],
  ['quality not known', { video_quality: 'best' }, ['video_quality must be one of: basic, plus, premium']],
  ['encoding tier not known', { encoding_tier: 'plus' }, ['encoding_tier must be one of: smart, baseline, premium']],
  [
    'both kinds of renditions',
    { mp4_support: 'standard', static_renditions: [{ resolution: '720p' }] },
    ['mp4_support and static_renditions cannot be used together'],
  ],
  ['renditions of a wrong type', { static_renditions: {} }, ['static_renditions must be an array']],
  [
    'renditions that are no objects',
    { static_renditions: [1, 2] },
    ['static_renditions[0] must be an object', 'static_renditions[1] must be an object'],
  ],
  [
    'resolution absent',
    { static_renditions: [{}] },
    [`static_renditions[0].resolution must be one of: ${RESOLUTIONS}`],
  ],
  [
    'resolution not known',
    { static_renditions: [{ resolution: '4k' }] },
    [`static_renditions[0].resolution must be one of: ${RESOLUTIONS}`],
  ],
  [
    'resolution twice',
    { static_renditions: [{ resolution: '720p' }, { resolution: 'highest' }, { resolution: '720p' }] },
    ['static_renditions contains a duplicate resolution: 720p'],
  ],
  [
    'unknown resolution twice',
    { static_renditions: [{ resolution: '4k' }, { resolution: '4k' }] },
    [0, 1].map((at) => `static_renditions[${at}].resolution must be one of: ${RESOLUTIONS}`),
  ],
  [
    'rendition passthrough too long',
    { static_renditions: [{ resolution: '720p', passthrough: times('a', 256) }] },
    ['static_renditions[0].passthrough must be at most 255 characters'],
  ],
  ['test not boolean', { test: 'yes' }, ['test must be a boolean']],
  ['normalize_audio not boolean', { normalize_audio: 1 }, ['normalize_audio must be a boolean']],
  ['copy_overlays not boolean', { copy_overlays: 'true' }, ['copy_overlays must be a boolean']],
  ['generate_shots not boolean', { generate_shots: 0 }, ['generate_shots must be a boolean']],
  ['directives of a wrong type', { directives: 'x' }, ['directives must be an array']],
  ['directive without id', { directives: [{}] }, ['directives[0].id is required']],
  ['directive id of a wrong type', { directives: [{ id: 1 }] }, ['directives[0].id must be a string']],
  [
    'directive not known',
    { directives: [{ id: 'drv_x' }] },
    ['directives[0].id does not refer to an existing directive'],
  ],
  [
    'several problems, in body order',
    { test: 1, meta: { external_id: 1, title: 2 }, passthrough: 3, static_renditions: [{}], mp4_support: 'x' },
    [
      'test must be a boolean',
      'meta.external_id must be a string',
      'meta.title must be a string',
      'passthrough must be a string',
      `static_renditions[0].resolution must be one of: ${RESOLUTIONS}`,
      `mp4_support must be one of: ${MP4}`,
    ],
  ],
];

describe('POST /video/v1/assets refuses', () => {
  it.each(refused)('%s', async (_, fields, messages) => {
    const response = await api.call('POST', '/video/v1/assets', { inputs, ...fields });
    await expectError(response, 400, 'invalid_parameters', messages);
  });

  it.each<[string, unknown, string]>([
    ['no inputs', {}, 'inputs is required'],
    ['null inputs', { inputs: null, input: null }, 'inputs is required'],
    ['empty inputs', { inputs: [] }, 'inputs must contain at least one input'],
    ['inputs of a wrong type', { inputs: 5 }, 'inputs must be an array'],
    ['an object for inputs', { inputs: inputs[0] }, 'inputs must be an array'],
    ['a list for a body', [inputs], 'Request body must be a JSON object'],
    ['a text for a body', '"x"', 'Request body must be a JSON object'],
    ['null for a body', 'null', 'Request body must be a JSON object'],
    ['no body', undefined, 'Request body must be a JSON object'],
    ['an empty body', '', 'Request body must be a JSON object'],
    ['broken JSON', '{"inputs":', 'Request body is not valid JSON'],
  ])('%s', async (_, body, message) => {
    await expectError(await api.call('POST', '/video/v1/assets', body), 400, 'invalid_parameters', [message]);
  });

  it('text that is not UTF-8', async () => {
    const response = await fetch(`${api.origin}/video/v1/assets`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(api.token)}`, 'content-type': 'application/json' },
      body: Buffer.from([0x22, 0xff, 0x22]),
    });
    await expectError(response, 400, 'invalid_parameters', ['Request body is not valid JSON']);
  });
});

/** Name, whole body, part of the answer. */
const accepted: [string, object, object][] = [
  ['a deprecated input that is no list', { inputs: undefined, input: inputs[0] }, {}],
  ['inputs as a text', { inputs: inputs[0]!.url }, { status: 'preparing' }],
  ['the deprecated input as a text', { input: inputs[0]!.url }, { status: 'preparing' }],
  ['the deprecated input as a list', { input: inputs }, { status: 'preparing' }],
  ['the new name before the deprecated one', { inputs, input: 'nonsense' }, { status: 'preparing' }],
  ['a policy as a text', { inputs, playback_policies: 'signed' }, { playback_ids: [{ policy: 'signed' }] }],
  ['the deprecated policy', { inputs, playback_policy: ['public'] }, { playback_ids: [{ policy: 'public' }] }],
  [
    'the new policies before the deprecated',
    { inputs, playback_policies: [], playback_policy: 7 },
    { status: 'preparing' },
  ],
  [
    'policies, duplicates included, then advanced policies',
    { inputs, playback_policies: ['signed', 'signed'], advanced_playback_policies: [{ policy: 'public' }] },
    { playback_ids: [{ policy: 'signed' }, { policy: 'signed' }, { policy: 'public' }] },
  ],
  [
    'encoding tier baseline',
    { inputs, encoding_tier: 'baseline' },
    { video_quality: 'basic', encoding_tier: 'baseline' },
  ],
  ['encoding tier smart', { inputs, encoding_tier: 'smart' }, { video_quality: 'plus', encoding_tier: 'smart' }],
  [
    'encoding tier premium',
    { inputs, encoding_tier: 'premium' },
    { video_quality: 'premium', encoding_tier: 'premium' },
  ],
  ['quality before encoding tier', { inputs, video_quality: 'plus', encoding_tier: 'no' }, { video_quality: 'plus' }],
  [
    'basic with 2160p',
    { inputs, video_quality: 'basic', max_resolution_tier: '2160p' },
    { max_resolution_tier: '2160p' },
  ],
  [
    'mp4_support none with no renditions',
    { inputs, mp4_support: 'none', static_renditions: [] },
    { mp4_support: 'none' },
  ],
  ['passthrough of 255 code points', { inputs, passthrough: times('😀', 255) }, { passthrough: times('😀', 255) }],
  ['titles of 512 code points', { inputs, meta: { title: times('é', 512) } }, { meta: { title: times('é', 512) } }],
  ['test and normalize_audio', { inputs, test: true, normalize_audio: true }, { test: true, normalize_audio: true }],
  ['copy_overlays without a clip', { inputs, copy_overlays: false }, { ingest_type: 'on_demand_url' }],
  ['unknown fields', { inputs, color: 'red', meta: { mood: 1, title: 't' } }, { meta: { title: 't' } }],
];

describe('POST /video/v1/assets accepts', () => {
  it.each(accepted)('%s', async (_, body, data) => {
    const response = await api.call('POST', '/video/v1/assets', body);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 201,
      body: { data },
    });
  });

  it('null wherever a field may be absent, and leaves out what was not given', async () => {
    const fields = ['playback_policies', 'advanced_playback_policies', 'passthrough', 'meta', 'mp4_support', 'test'];
    const more = [
      'normalize_audio',
      'master_access',
      'video_quality',
      'static_renditions',
      'directives',
      'copy_overlays',
    ];
    const nulls = Object.fromEntries([...fields, ...more].map((name) => [name, null]));
    const response = await api.call('POST', '/video/v1/assets', { inputs, ...nulls, generate_shots: false });
    expect(response.status).toBe(201);
    expect(Object.keys((await response.json()).data).sort()).toEqual(
      [
        ...['created_at', 'encoding_tier', 'id', 'ingest_type', 'master_access', 'max_resolution_tier', 'mp4_support'],
        ...['normalize_audio', 'progress', 'status', 'video_quality'],
      ].sort(),
    );
  });

  it('empty texts as absent', async () => {
    const response = await api.call('POST', '/video/v1/assets', { inputs, passthrough: '', meta: { title: '' } });
    expect(response.status).toBe(201);
    const { data } = await response.json();
    expect(data).not.toHaveProperty('passthrough');
    expect(data).not.toHaveProperty('meta');
  });
});
