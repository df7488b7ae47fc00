import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { type Origin, startOrigin } from '../../support/servers/origin.js';
import { copyBuild } from '../../support/servers/other-build.js';
import { cleanUpServers, makeDataDir, startServer, until } from '../../support/servers/server-process.js';
import { api, createAsset, serveFiles, settled } from '../../support/wire/create-asset.js';
import { undocumentedResponse } from '../../support/wire/documented-responses.js';
import { sendRaw } from '../../support/wire/raw-get.js';

let server: Booted;
let origin: Origin;

beforeAll(async () => {
  server = await boot();
  origin = await serveFiles([await fixture('h264-aac-22050.mp4'), await fixture('audio-only.m4a')]);
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
  await cleanUpServers();
});

/** The whole answer of a real server, compared with the document; its `data`. */
const ask = async (operationId: string, method: string, path: string, body?: unknown): Promise<unknown> => {
  const response = await api(server, method, path, body);
  const text = await response.text();
  expect(undocumentedResponse(operationId, response.status, text)).toBeUndefined();
  return text === '' ? undefined : JSON.parse(text).data;
};

it('serves the document and the page without credentials', async () => {
  const json = await fetch(`${server.url}/openapi.json`);
  expect(json.status).toBe(200);
  expect(json.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(json.headers.get('access-control-allow-origin')).toBe('*');
  const document = await json.json();
  expect(document).toMatchObject({ openapi: '3.1.0', paths: { '/video/v1/assets': { post: {} } } });
  const etag = json.headers.get('etag')!;
  const again = await fetch(`${server.url}/openapi.json`, { headers: { 'if-none-match': etag } });
  expect(again.status).toBe(304);

  const page = await fetch(`${server.url}/docs`);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(await page.text()).toContain('<title>Kinora API</title>');
  expect(await (await fetch(`${server.url}/docs/json`)).json()).toEqual(document);
  const style = await fetch(`${server.url}/docs/static/swagger-ui.css`);
  const sizeBytes = (await style.arrayBuffer()).byteLength;
  const head = await fetch(`${server.url}/docs/static/swagger-ui.css`, { method: 'HEAD' });
  expect(head.headers.get('content-length')).toBe(String(sizeBytes));
  // fetch adds headers that ask for a new copy.
  const known = { 'if-none-match': style.headers.get('etag')! };
  const unchanged = await sendRaw(server.url, '/docs/static/swagger-ui.css', 'GET', known);
  expect([unchanged.status, unchanged.headers['content-type'], unchanged.body.length]).toEqual([304, undefined, 0]);
  for (const lost of ['/docs/nothing', '/docs/static/nothing']) {
    const response = await fetch(`${server.url}${lost}`);
    expect([response.status, await response.json()]).toEqual([404, { code: 5, message: 'Not Found' }]);
    expect(response.headers.get('x-request-id')).toMatch(/^[\w-]{36}$/);
  }
});

it('loads the page again when it could not be loaded', async () => {
  const build = copyBuild();
  const style = join(dirname(dirname(build.program)), 'http/ops/docs/docs.css');
  const text = readFileSync(style, 'utf8');
  rmSync(style);
  const other = await startServer({ dataDir: makeDataDir(), program: build.program });
  const failed = await fetch(`${other.url}/docs`);
  expect([failed.status, await failed.json()]).toEqual([500, { code: 13, message: 'Internal error' }]);
  await until('the failure is in the log', () => /"request failed"/.test(other.logText()));
  writeFileSync(style, text);
  expect((await fetch(`${other.url}/docs`)).status).toBe(200);
  expect(await other.stop()).toBe(0);
  build.remove();
});

it('describes assets in every state as a real server answers them', async () => {
  const create = { playback_policies: ['public', 'signed'], passthrough: 'a', meta: { title: 't' } };
  const [video, audio, broken] = await Promise.all(
    ['/0', '/1', '/missing'].map((path) =>
      createAsset(server, { ...create, inputs: [{ url: `${origin.url}${path}` }] }),
    ),
  );
  await ask('getAsset', 'GET', `/video/v1/assets/${video!.id}`);
  expect((await settled(server, video!.id)).status).toBe('ready');
  expect((await settled(server, audio!.id)).status).toBe('ready');
  expect((await settled(server, broken!.id)).status).toBe('errored');
  for (const { id } of [video!, audio!, broken!]) {
    await ask('getAsset', 'GET', `/video/v1/assets/${id}`);
    await ask('getInputInfo', 'GET', `/video/v1/assets/${id}/input-info`);
  }
  expect(await ask('listAssets', 'GET', '/video/v1/assets?limit=2')).toHaveLength(2);
  expect(await ask('listEvents', 'GET', '/system/v1/events')).not.toHaveLength(0);
  await ask('updateAsset', 'PATCH', `/video/v1/assets/${video!.id}`, { thumbnail_time: 1 });
  await ask('deleteAsset', 'DELETE', `/video/v1/assets/${audio!.id}`);
  await ask('getAsset', 'GET', `/video/v1/assets/${audio!.id}`);
  await ask('createAsset', 'POST', '/video/v1/assets', { inputs: 3 });
});

it('describes webhooks, their deliveries and events as a real server answers them', async () => {
  let status = 500;
  const receiver = await startOrigin((_, response) => response.writeHead(status, { 'x-reason': 'test' }).end('told'));
  try {
    const created = await ask('createWebhook', 'POST', '/system/v1/webhooks', { address: `${receiver.url}/in` });
    const path = `/system/v1/webhooks/${(created as { id: string }).id}`;
    await ask('getWebhook', 'GET', path);
    await ask('updateWebhook', 'PATCH', path, { enabled: true });
    expect(await ask('listWebhooks', 'GET', '/system/v1/webhooks')).toHaveLength(1);
    const tested = (await ask('testWebhook', 'POST', `${path}/test`)) as { id: string; event: { id: string } };
    await until('the attempt is told', async () => {
      const delivery = await ask('getDelivery', 'GET', `${path}/deliveries/${tested.id}`);
      return (delivery as { attempts: object[] }).attempts.length > 0;
    });
    status = 200;
    await ask('redeliver', 'POST', `${path}/deliveries/${tested.id}/redeliver`);
    await until('it is delivered', async () => {
      const [delivery] = (await ask('listDeliveries', 'GET', `${path}/deliveries`)) as { state: string }[];
      return delivery?.state === 'succeeded';
    });
    await ask('getEvent', 'GET', `/system/v1/events/${tested.event.id}`);
    await ask('deleteWebhook', 'DELETE', path);
  } finally {
    await receiver.stop();
  }
});

it('would notice an answer that it does not describe', () => {
  const asset = (more: object) => JSON.stringify({ data: { id: 'a', policy: 'public', ...more } });
  expect(undocumentedResponse('getPlaybackId', 200, asset({}))).toBeUndefined();
  expect(undocumentedResponse('getPlaybackId', 200, asset({ policy: 'secret' }))).toContain('/data/policy');
  expect(undocumentedResponse('getPlaybackId', 200, asset({ color: 'red' }))).toContain('getPlaybackId 200');
  expect(undocumentedResponse('deletePlaybackId', 204, asset({}))).toContain('with a body');
  expect(() => undocumentedResponse('getPlaybackId', 418, '{}')).toThrow('does not name');
});
