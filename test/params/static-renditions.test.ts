import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, startApi } from '../support/servers/api.js';
import { expectError, NOT_FOUND } from '../support/wire/expect-error.js';

const RESOLUTIONS = 'highest, audio-only, 2160p, 1440p, 1080p, 720p, 540p, 480p, 360p, 270p';
const MP4 = 'none, capped-1080p, audio-only, audio-only,capped-1080p, standard';
const TOGETHER = 'mp4_support and static_renditions cannot be used together';
const UNKNOWN = 'A'.repeat(40);

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.stop());

/** The address of a new asset. */
const create = async (settings: object = {}): Promise<string> => {
  const body = { inputs: 'https://media.example.org/walk.mp4', ...settings };
  const response = await api.call('POST', '/video/v1/assets', body);
  expect(response.status).toBe(201);
  return `/video/v1/assets/${(await response.json()).data.id}`;
};
const setStatus = (asset: string, status: 'ready' | 'errored') =>
  api.database.queryable.updateTable('asset').set({ status }).where('id', '=', asset.split('/')[4]!).execute();
const read = async (asset: string) => (await (await api.call('GET', asset)).json()).data;
const add = (asset: string, body?: unknown) => api.call('POST', `${asset}/static-renditions`, body);
const put = (asset: string, body?: unknown) => api.call('PUT', `${asset}/mp4-support`, body);
const refused = async (response: Response, ...messages: string[]) =>
  expectError(response, 400, 'invalid_parameters', messages);
const eventsOf = async (asset: string): Promise<string[]> => {
  const { data } = await (await api.call('GET', '/system/v1/events?limit=100')).json();
  const assetId = asset.split('/')[4];
  return data
    .filter((event: { data: { id: string; asset_id?: string } }) =>
      [event.data.id, event.data.asset_id].includes(assetId),
    )
    .map(({ type }: { type: string }) => type.replace('video.asset.', ''))
    .reverse();
};

describe('POST …/static-renditions', () => {
  it.each<[string, unknown, string[]]>([
    ['no body', undefined, ['resolution is required']],
    ['no resolution', {}, ['resolution is required']],
    ['a null resolution', { resolution: null }, ['resolution is required']],
    ['a resolution that is not known', { resolution: '4k' }, [`resolution must be one of: ${RESOLUTIONS}`]],
    ['a resolution of a wrong type', { resolution: 720 }, ['resolution must be a string']],
    [
      'a long passthrough',
      { resolution: '720p', passthrough: 'é'.repeat(256) },
      ['passthrough must be at most 255 characters'],
    ],
    ['a passthrough of a wrong type', { resolution: '720p', passthrough: 1 }, ['passthrough must be a string']],
    [
      'two problems',
      { passthrough: 1, resolution: 'x' },
      ['passthrough must be a string', `resolution must be one of: ${RESOLUTIONS}`],
    ],
    ['a list for a body', [], ['Request body must be a JSON object']],
  ])('refuses %s', async (_, body, messages) => {
    await refused(await add(await create(), body), ...messages);
  });

  it('refuses what does not go together with the state of the asset', async () => {
    const withMp4 = await create({ mp4_support: 'standard' });
    await refused(await add(withMp4, { resolution: '720p' }), TOGETHER);
    const twice = await create({ static_renditions: [{ resolution: '720p' }] });
    await refused(await add(twice, { resolution: '720p' }), 'A static rendition with resolution 720p already exists');
    const errored = await create();
    await setStatus(errored, 'errored');
    await refused(await add(errored, { resolution: '720p' }), 'Asset is in an errored state');
    await expectError(await add(`/video/v1/assets/${UNKNOWN}`, {}), 404, 'not_found', [NOT_FOUND]);
    await expectError(await add('/video/v1/assets/x', {}), 404, 'not_found', [NOT_FOUND]);
  });

  it.each(['ready', 'skipped'] as const)('refuses one that is %s, but not one that failed', async (status) => {
    const asset = await create({ static_renditions: [{ resolution: '720p' }] });
    const setRendition = (to: 'ready' | 'skipped' | 'errored') =>
      api.database.queryable
        .updateTable('static_rendition')
        .set({ status: to })
        .where('asset_id', '=', asset.split('/')[4]!)
        .execute();
    await setRendition(status);
    await refused(await add(asset, { resolution: '720p' }), 'A static rendition with resolution 720p already exists');
    await setRendition('errored');
    const [{ id: failedId }] = (await read(asset)).static_renditions.files;
    const response = await add(asset, { resolution: '720p' });
    expect(response.status).toBe(201);
    const { data } = await response.json();
    expect(data.id).not.toBe(failedId);
    expect((await read(asset)).static_renditions.files).toEqual([data]);
  });

  it.each([
    ['720p', { type: 'advanced', name: '720p.mp4', ext: 'mp4' }],
    ['highest', { type: 'standard', name: 'highest.mp4', ext: 'mp4' }],
    ['audio-only', { type: 'standard', name: 'audio.m4a', ext: 'm4a' }],
  ] as const)('answers with what will be made: %s', async (resolution, expected) => {
    const asset = await create();
    const response = await add(asset, { resolution, passthrough: 'for-download' });
    expect(response.status).toBe(201);
    const { data } = await response.json();
    const id = expect.stringMatching(/^[A-Za-z0-9]{40}$/);
    expect(data).toEqual({ id, ...expected, status: 'preparing', resolution, passthrough: 'for-download' });
    expect((await read(asset)).static_renditions).toEqual({ files: [data] });
    expect(await eventsOf(asset)).toEqual(['created', 'static_rendition.created']);
  });
});

describe('static renditions', () => {
  it('are made with the asset in the order of the request, and removed one by one', async () => {
    const requested = [
      { resolution: '480p', passthrough: '' },
      { resolution: 'highest', passthrough: 'archive' },
    ];
    const body = { inputs: 'https://media.example.org/walk.mp4', static_renditions: requested };
    const { data } = await (await api.call('POST', '/video/v1/assets', body)).json();
    const asset = `/video/v1/assets/${data.id}`;
    expect(data.static_renditions.files).toMatchObject([
      { resolution: '480p', status: 'preparing' },
      { resolution: 'highest', status: 'preparing', passthrough: 'archive' },
    ]);
    expect(data.static_renditions.files[0]).not.toHaveProperty('passthrough');
    expect(data.static_renditions).not.toHaveProperty('status');
    expect((await read(asset)).static_renditions).toEqual(data.static_renditions);

    const [first, second] = data.static_renditions.files;
    const other = await create();
    for (const path of [`${other}/static-renditions/${first.id}`, `${asset}/static-renditions/${UNKNOWN}`])
      await expectError(await api.call('DELETE', path), 404, 'not_found', [NOT_FOUND]);
    expect((await api.call('DELETE', `${asset}/static-renditions/${first.id}`)).status).toBe(204);
    await expectError(await api.call('DELETE', `${asset}/static-renditions/${first.id}`), 404, 'not_found', [
      NOT_FOUND,
    ]);
    expect((await read(asset)).static_renditions).toEqual({ files: [second] });
    expect((await api.call('DELETE', `${asset}/static-renditions/${second.id}`)).status).toBe(204);
    expect(await read(asset)).not.toHaveProperty('static_renditions');
    expect(await eventsOf(asset)).toEqual([
      'created',
      'static_rendition.created',
      'static_rendition.created',
      'static_rendition.deleted',
      'static_rendition.deleted',
    ]);
  });

  it('are told of as objects of their own', async () => {
    const asset = await create({ static_renditions: [{ resolution: 'highest', passthrough: 'archive' }] });
    const [file] = (await read(asset)).static_renditions.files;
    await api.call('DELETE', `${asset}/static-renditions/${file.id}`);
    const { data } = await (await api.call('GET', `/system/v1/events?object_id=${file.id}`)).json();
    expect(data).toMatchObject([
      { type: 'video.asset.static_rendition.deleted', object: { type: 'static-rendition', id: file.id } },
      { type: 'video.asset.static_rendition.created', object: { type: 'static-rendition', id: file.id } },
    ]);
    for (const event of data) expect(event.data).toEqual({ ...file, asset_id: asset.split('/')[4] });
  });

  it('belong to an environment', async () => {
    const asset = await create({ static_renditions: [{ resolution: '480p' }] });
    const [file] = (await read(asset)).static_renditions.files;
    const foreign = await api.newToken({ name: 'reader', permissions: ['video:read'] });
    for (const [method, path] of [
      ['POST', 'static-renditions'],
      ['DELETE', `static-renditions/${file.id}`],
      ['PUT', 'mp4-support'],
    ] as const) {
      expect((await api.callAs(foreign, method, `${asset}/${path}`)).status).toBe(403);
      expect((await api.callAs(undefined, method, `${asset}/${path}`)).status).toBe(401);
    }
  });
});

describe('PUT …/mp4-support', () => {
  it.each<[string, unknown, string]>([
    ['no body', undefined, 'mp4_support is required'],
    ['no value', {}, 'mp4_support is required'],
    ['a value that is not known', { mp4_support: '720p' }, `mp4_support must be one of: ${MP4}`],
    ['a value of a wrong type', { mp4_support: ['none'] }, 'mp4_support must be a string'],
    ['a list for a body', [], 'Request body must be a JSON object'],
  ])('refuses %s', async (_, body, message) => {
    await refused(await put(await create(), body), message);
  });

  it('refuses what does not go together with the state of the asset', async () => {
    const withFiles = await create({ static_renditions: [{ resolution: '720p' }] });
    await refused(await put(withFiles, { mp4_support: 'capped-1080p' }), TOGETHER);
    const before = await read(withFiles);
    const response = await put(withFiles, { mp4_support: 'none' });
    expect(response.status).toBe(200);
    expect((await response.json()).data).toEqual(before);
    const errored = await create();
    await setStatus(errored, 'errored');
    await refused(await put(errored, { mp4_support: 'none' }), 'Asset is in an errored state');
    await expectError(await put(`/video/v1/assets/${UNKNOWN}`, {}), 404, 'not_found', [NOT_FOUND]);
  });

  it('changes the value while the asset is preparing, and back', async () => {
    const asset = await create();
    const changed = await put(asset, { mp4_support: 'audio-only,capped-1080p' });
    expect(changed.status).toBe(200);
    const { data } = await changed.json();
    expect(data).toMatchObject({ mp4_support: 'audio-only,capped-1080p', static_renditions: { status: 'preparing' } });
    expect(data.static_renditions).toEqual({ status: 'preparing' });
    expect((await (await put(asset, { mp4_support: 'audio-only,capped-1080p' })).json()).data).toEqual(data);
    const off = (await (await put(asset, { mp4_support: 'none' })).json()).data;
    expect(off.mp4_support).toBe('none');
    expect(off).not.toHaveProperty('static_renditions');
    expect(await eventsOf(asset)).toEqual(['created', 'static_renditions.deleted']);
    expect((await add(asset, { resolution: '720p' })).status).toBe(201);
  });
});
