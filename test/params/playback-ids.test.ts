import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, startApi } from '../support/servers/api.js';
import { expectError, NOT_FOUND } from '../support/wire/expect-error.js';

let api: Api;
const paths = { basic: '', plus: '' };
beforeAll(async () => {
  api = await startApi();
  for (const quality of ['basic', 'plus'] as const) {
    const body = { inputs: 'https://media.example.org/walk.mp4', video_quality: quality };
    const created = await (await api.call('POST', '/video/v1/assets', body)).json();
    paths[quality] = `/video/v1/assets/${created.data.id}/playback-ids`;
  }
});
afterAll(() => api?.stop());

describe('POST …/playback-ids refuses', () => {
  const drm = { policy: 'drm', drm_configuration_id: 'c' };
  it.each<[string, keyof typeof paths, unknown, string]>([
    ['no policy', 'basic', {}, 'policy is required'],
    ['no body', 'basic', undefined, 'policy is required'],
    ['a null policy', 'basic', { policy: null }, 'policy is required'],
    ['a policy that is not known', 'basic', { policy: 'open' }, 'policy must be one of: public, signed, drm'],
    ['a policy of a wrong type', 'basic', { policy: ['public'] }, 'policy must be a string'],
    ['a list for a body', 'basic', [], 'Request body must be a JSON object'],
    [
      'a configuration without drm',
      'basic',
      { policy: 'signed', drm_configuration_id: 'c' },
      'drm_configuration_id is only allowed when policy is drm',
    ],
    ['drm without configuration', 'plus', { policy: 'drm' }, 'drm_configuration_id is required when policy is drm'],
    ['an unknown configuration', 'plus', drm, 'drm_configuration_id does not refer to an existing DRM configuration'],
    ['drm for a basic asset', 'basic', drm, 'DRM playback requires video_quality plus or premium'],
  ])('%s', async (_, asset, body, message) => {
    await expectError(await api.call('POST', paths[asset], body), 400, 'invalid_parameters', [message]);
  });

  it('an unknown asset before it looks at the body', async () => {
    const response = await api.call('POST', `/video/v1/assets/${'A'.repeat(40)}/playback-ids`, { policy: 'open' });
    await expectError(response, 404, 'not_found', [NOT_FOUND]);
  });

  it('an unknown asset after it could not read the body', async () => {
    const response = await api.call('POST', `/video/v1/assets/${'A'.repeat(40)}/playback-ids`, '{');
    await expectError(response, 400, 'invalid_parameters', ['Request body is not valid JSON']);
  });
});

describe('playback ids', () => {
  it('are made, read and removed, and disappear from the asset with the last one', async () => {
    const mux = api.sdk();
    const assetId = paths.plus.split('/')[4]!;
    const first = await mux.video.assets.createPlaybackId(assetId, { policy: 'public' });
    const second = await mux.video.assets.createPlaybackId(assetId, { policy: 'signed' });
    expect(second).toEqual({ id: expect.stringMatching(/^[A-Za-z0-9]{40}$/), policy: 'signed' });
    expect((await mux.video.assets.retrieve(assetId)).playback_ids).toEqual([first, second]);
    expect(await mux.video.assets.retrievePlaybackId(assetId, second.id)).toEqual(second);
    expect(await mux.video.playbackIds.retrieve(first.id)).toEqual({
      ...first,
      object: { type: 'asset', id: assetId },
    });

    const path = `${paths.plus}/${first.id}`;
    expect((await api.call('DELETE', path)).status).toBe(204);
    expect(api.forgotten).toContainEqual({ playbackId: first.id });
    await expectError(await api.call('GET', path), 404, 'not_found', [NOT_FOUND]);
    await expectError(await api.call('DELETE', path), 404, 'not_found', [NOT_FOUND]);
    await expectError(await api.call('GET', `/video/v1/playback-ids/${first.id}`), 404, 'not_found', [NOT_FOUND]);
    await mux.video.assets.deletePlaybackId(assetId, second.id);
    expect(await mux.video.assets.retrieve(assetId)).not.toHaveProperty('playback_ids');
  });

  it('belong to one asset only', async () => {
    const created = await (await api.call('POST', paths.plus, { policy: 'public' })).json();
    const foreign = `${paths.basic}/${created.data.id}`;
    await expectError(await api.call('GET', foreign), 404, 'not_found', [NOT_FOUND]);
    await expectError(await api.call('DELETE', foreign), 404, 'not_found', [NOT_FOUND]);
    expect((await api.call('GET', `${paths.plus}/${created.data.id}`)).status).toBe(200);
  });
});
