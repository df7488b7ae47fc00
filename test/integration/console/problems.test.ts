import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ControlConnection } from '#kinora/control/control-client.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { serveFiles } from '../../support/wire/create-asset.js';

let server: Booted;
let files: Awaited<ReturnType<typeof serveFiles>>;
let directory: string;
let cookie: string;
let csrf: string;

const call = (method: string, path: string, body?: object) =>
  fetch(`${server.url}${path}`, {
    method,
    headers: { cookie, 'x-csrf-token': csrf, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-problems-'));
  await writeFile(join(directory, 'broken.mp4'), 'This is not a video.'.repeat(100));
  files = await serveFiles([join(directory, 'broken.mp4')]);
  server = await boot();
  const control = (await ControlConnection.open(server.dataDir))!;
  const url = String(await control.call('console link', {}));
  control.close();
  expect(url.startsWith(`${server.url}/console/login#`)).toBe(true);
  const opened = await fetch(`${server.url}/console/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ link: url.split('#')[1] }),
  });
  cookie = opened.headers.get('set-cookie')!.split(';')[0]!;
  csrf = (await opened.json()).csrf_token;
});
afterAll(async () => {
  await server?.stop();
  await files?.stop();
  await rm(directory, { recursive: true, force: true });
});

const create = async (body: object): Promise<{ id: string; requestId: string }> => {
  const response = await call('POST', '/video/v1/assets', body);
  expect(response.status).toBe(201);
  return { id: (await response.json()).data.id, requestId: response.headers.get('x-request-id')! };
};

const errored = async (id: string): Promise<void> => {
  const read = async () => (await (await call('GET', `/video/v1/assets/${id}`)).json()).data.status;
  await expect.poll(read, { interval: 200 }).toBe('errored');
};

it('an errored asset says what failed, where and in which request, and can be retried with everything it had', async () => {
  const settings = {
    inputs: [{ url: `${files.url}/0.mp4` }],
    playback_policies: ['signed', 'public'],
    meta: { title: 'A broken one' },
    passthrough: 'mine',
    video_quality: 'plus',
    max_resolution_tier: '1440p',
    normalize_audio: true,
    static_renditions: [{ resolution: 'highest', passthrough: 'file' }],
  };
  const { id, requestId } = await create(settings);
  await errored(id);
  const problem = await (await call('GET', `/console/api/assets/${id}/problem`)).json();
  expect(problem).toEqual({
    sentence: expect.stringMatching(/\.$/),
    stage: 'probe',
    request_id: requestId,
    occurred_at: expect.stringMatching(/Z$/),
    job_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    details: expect.stringMatching(/./),
    input_url: `${files.url}/0.mp4`,
    can_retry: true,
  });

  const response = await call('POST', `/console/api/assets/${id}/retry`);
  expect(response.status).toBe(201);
  const { data: again } = await response.json();
  expect(again.id).not.toBe(id);
  expect(again).toMatchObject({
    status: 'preparing',
    meta: { title: 'A broken one' },
    passthrough: 'mine',
    video_quality: 'plus',
    max_resolution_tier: '1440p',
    normalize_audio: true,
    playback_ids: [{ policy: 'signed' }, { policy: 'public' }],
    static_renditions: { files: [expect.objectContaining({ resolution: 'highest', passthrough: 'file' })] },
  });
  const { data: inputs } = await (await call('GET', `/video/v1/assets/${again.id}/input-info`)).json();
  expect(inputs[0].settings.url).toBe(`${files.url}/0.mp4`);
  expect((await call('GET', `/console/api/assets/${again.id}/problem`)).status).toBe(409);
  expect((await call('POST', `/console/api/assets/${again.id}/retry`)).status).toBe(409);
  await errored(again.id);
});

it('a failed download is its own stage', async () => {
  const { id } = await create({ inputs: [{ url: `${files.url.replace('://', '://user:hidden@')}/1.mp4` }] });
  await errored(id);
  expect(await (await call('GET', `/console/api/assets/${id}/problem`)).json()).toMatchObject({
    stage: 'download',
    input_url: `${files.url}/1.mp4`,
    can_retry: true,
  });
});

it('an uploaded file is to be uploaded again', async () => {
  const created = await call('POST', '/video/v1/uploads', { cors_origin: '*', new_asset_settings: {} });
  const { url, id: uploadId } = (await created.json()).data;
  expect((await fetch(url, { method: 'PUT', body: 'no video either' })).status).toBe(200);
  const assetOf = async () => (await (await call('GET', `/video/v1/uploads/${uploadId}`)).json()).data.asset_id;
  await expect.poll(assetOf).toBeTruthy();
  const id = await assetOf();
  await errored(id);
  expect(await (await call('GET', `/console/api/assets/${id}/problem`)).json()).toMatchObject({
    can_retry: false,
    input_url: null,
    request_id: created.headers.get('x-request-id'),
  });
  const refused = await call('POST', `/console/api/assets/${id}/retry`);
  expect(refused.status).toBe(409);
  expect((await refused.json()).error.messages).toEqual([
    'The input of this asset is not kept. Upload the file again.',
  ]);
});

it('unknown assets have no problem', async () => {
  for (const id of ['A'.repeat(40), 'x', '%00'])
    expect((await call('GET', `/console/api/assets/${id}/problem`)).status).toBe(404);
});
