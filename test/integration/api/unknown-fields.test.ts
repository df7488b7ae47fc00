import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Api, startApi } from '../../support/servers/api.js';
import { expectError } from '../../support/wire/expect-error.js';

let api: Api;
let strict: Api;
beforeAll(async () => {
  [api, strict] = await Promise.all([startApi(), startApi({ strictFields: true })]);
});
afterAll(async () => {
  await Promise.all([api?.stop(), strict?.stop()]);
});

const ASSETS = '/video/v1/assets';
const inputs = [{ url: 'https://media.example.org/a.mp4' }];
const MISSPELLED = { inputs, playback_policys: ['public'], nonsense: true };
const SENTENCES = [
  'playback_policys is not a known field; did you mean playback_policies?',
  'nonsense is not a known field',
];

it('are ignored with a warning in the response and the log', async () => {
  const response = await api.call('POST', ASSETS, MISSPELLED);
  expect(response.status).toBe(201);
  expect(response.headers.get('kinora-warning')).toBe(SENTENCES.join(', '));
  const line = api.logger.lines.find(({ message }) => message === 'request with unknown fields');
  expect(line).toMatchObject({ level: 'warn', fields: { operation: 'createAsset', warning: SENTENCES.join(', ') } });
});

it('are named in the response to a request that fails, too', async () => {
  const response = await api.call('POST', ASSETS, { input_url: 'https://media.example.org/a.mp4' });
  expect([response.status, response.headers.get('kinora-warning')]).toEqual([400, 'input_url is not a known field']);
});

it('cannot add headers', async () => {
  const name = `x\r\nSet-Cookie: a=b\r\n\u2028é${'y'.repeat(10_000)}`;
  const response = await api.call('POST', ASSETS, { inputs, [name]: 1 });
  expect(response.status).toBe(201);
  expect(response.headers.get('set-cookie')).toBeNull();
  expect(response.headers.get('kinora-warning')).toMatch(/^x\?\?Set-Cookie: a=b\?{4}y{42}\? is not a known field$/);
});

it('are refused in strict mode, and nothing is made', async () => {
  const response = await strict.call('POST', ASSETS, MISSPELLED);
  expect(response.headers.get('kinora-warning')).toBeNull();
  await expectError(response, 400, 'invalid_parameters', SENTENCES);
  expect((await (await strict.call('GET', ASSETS)).json()).data).toEqual([]);
  const robots = await strict.call('POST', '/robots/v0/jobs/summarize', { paramters: {} });
  expect([robots.status, await robots.json()]).toEqual([
    400,
    {
      error: { type: 'invalid_parameters', message: 'paramters is not a known field; did you mean parameters?' },
    },
  ]);
  expect((await strict.callAs(undefined, 'POST', ASSETS, MISSPELLED)).status).toBe(401);
});

it('are none of what the official SDK and older clients send', async () => {
  for (const body of [
    { input: 'https://media.example.org/a.mp4', playback_policy: 'public', encoding_tier: 'smart' },
    { input: [{ url: inputs[0]!.url, generated_subtitles: [{ language_code: 'en', name: 'English' }] }] },
    {
      inputs: [{ ...inputs[0], overlay_settings: null, start_time: null }],
      playback_policies: ['public'],
      advanced_playback_policies: [{ policy: 'signed' }],
      meta: { title: 'a', creator_id: 'b', external_id: 'c' },
      static_renditions: [{ resolution: 'highest', passthrough: 'd' }],
      ...{ master_access: 'none', max_resolution_tier: '1080p', normalize_audio: false, test: false },
      ...{ passthrough: 'e', video_quality: 'plus', copy_overlays: true },
    },
  ]) {
    const response = await strict.call('POST', ASSETS, body);
    expect([response.status, response.status === 201 || (await response.json())]).toEqual([201, true]);
  }
  const upload = await strict.sdk().video.uploads.create({
    cors_origin: '*',
    new_asset_settings: { playback_policies: ['public'], meta: { title: 'a' }, inputs: [{ language_code: 'en' }] },
    ...{ test: false, timeout: 3600 },
  });
  expect(upload.status).toBe('waiting');
});
