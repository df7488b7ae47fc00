import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, startApi } from '../../support/servers/api.js';
import { type ConsoleSession, signIn } from '../../support/wire/console.js';

let api: Api;
let app: ConsoleSession;
beforeAll(async () => {
  api = await startApi();
  app = await signIn(api);
});
afterAll(() => api?.stop());

const PATH = '/console/api/drm-configurations';
const KEY = `${'0a'.repeat(16)}:${'5e'.repeat(16)}`;
const read = async (response: Response) => ({ status: response.status, ...(await response.json()) });
const create = async (body: object) => read(await app.call('POST', PATH, body));
const list = async () => (await read(await app.call('GET', PATH))).data;

describe('DRM configurations', () => {
  let id: string;

  it('are created and listed without their secrets, and the API knows them', async () => {
    const made = await create({
      ...{ name: 'Films', key_source: 'static', key: KEY },
      ...{ widevine_url: 'https://user:password@license.example.org/wv?secret=1' },
      license_header: ['Authorization: Bearer hidden-header'],
      fairplay_url: 'https://license.example.org/fp',
      fairplay_certificate_base64: Buffer.from('certificate').toString('base64'),
      allow_private: '10.0.0.0/8',
    });
    expect(made).toMatchObject({
      status: 201,
      data: {
        ...{ name: 'Films', key_source: 'static', clear_key: false, key_ids: ['0a'.repeat(16)] },
        urls: { widevine: 'https://license.example.org/wv', fairplay: 'https://license.example.org/fp' },
        ...{ fairplay_certificate: '11 bytes', allow_private: ['10.0.0.0/8'] },
      },
    });
    id = made.data.id;
    expect(await list()).toEqual([made.data]);
    expect(JSON.stringify(made)).not.toMatch(/5e5e|password|secret=|hidden-header/);
    expect((await (await api.call('GET', '/video/v1/drm-configurations')).json()).data).toEqual([{ id }]);
    const local = await create({ name: 'Tests', key_source: 'local', clear_key: 'true' });
    expect(local).toMatchObject({ status: 201, data: { clear_key: true, urls: {} } });
  });

  it.each([
    [[], 'The request body must be a JSON object.'],
    [{ name: 'a' }, 'key_source must be one of local, static, cpix.'],
    [{ name: ' a', key_source: 7 }, 'key_source must be a text.'],
    [{ key_source: 'local' }, 'name is required.'],
    [{ name: 'a', key_source: 'static' }, 'key is required for, and only allowed with, the key source static.'],
    [
      { name: 'a', key_source: 'static', key: 'short' },
      'key must be <key id>:<key> or <key id>:<key>:<iv>, 32 hexadecimal digits each.',
    ],
    [{ name: 'a', key_source: 'cpix' }, 'cpix_url is required for, and only allowed with, the key source cpix.'],
    [{ name: 'a', key_source: 'local', widevine_url: 'ftp://a.example' }, 'widevine_url must be an http or https URL.'],
    [
      { name: 'a', key_source: 'cpix', cpix_url: 'https://a.example', cpix_header: ['nothing'] },
      'cpix_header must be of the form "Name: value".',
    ],
    [
      { name: 'a', key_source: 'local', fairplay_certificate_base64: '' },
      'fairplay_certificate_base64 must be the bytes of a certificate in base64.',
    ],
  ])('are refused: %j', async (body, message) => {
    const before = await list();
    expect(await create(body)).toMatchObject({ status: 400, error: { messages: [message] } });
    expect(await list()).toEqual(before);
  });

  it('are deleted unless a playback ID uses them', async () => {
    const body = {
      inputs: [{ url: 'https://media.example.org/a.mp4' }],
      advanced_playback_policies: [{ policy: 'drm', drm_configuration_id: id }],
      video_quality: 'plus',
    };
    const asset = (await (await api.call('POST', '/video/v1/assets', body)).json()).data;
    expect(await read(await app.call('DELETE', `${PATH}/${id}`))).toMatchObject({
      status: 400,
      error: { messages: [`1 playback IDs use the DRM configuration ${id}. Delete them first.`] },
    });
    await api.call('DELETE', `/video/v1/assets/${asset.id}`);
    expect((await app.call('DELETE', `${PATH}/${id}`)).status).toBe(204);
    expect((await app.call('DELETE', `${PATH}/${id}`)).status).toBe(404);
    expect((await list()).map(({ name }: { name: string }) => name)).toEqual(['Tests']);
  });

  it('of other environments are out of reach, and those who may not administer are refused', async () => {
    const [known] = await list();
    const { id: environmentId } = await api.newEnvironment('other');
    await app.call('PATCH', '/console/api/session', { environment_id: environmentId });
    expect(await list()).toEqual([]);
    expect((await app.call('DELETE', `${PATH}/${known.id}`)).status).toBe(404);
    const withToken = await signIn(api, api.token);
    for (const [method, path] of [
      ['GET', PATH],
      ['POST', PATH],
      ['DELETE', `${PATH}/${known.id}`],
    ] as const)
      expect((await withToken.call(method, path, method === 'POST' ? {} : undefined)).status).toBe(403);
    expect((await api.callAs(undefined, 'GET', PATH)).status).toBe(401);
  });
});
