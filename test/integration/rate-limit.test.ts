import Mux from '@mux/mux-node';
import { afterEach, expect, it } from 'vitest';
import { type Api, startApi } from '../support/api.js';

let api: Api | undefined;
afterEach(() => api?.stop());

const slow = { post: { perSecond: 0.001, burst: 2 }, other: { perSecond: 0.001, burst: 3 } };
const body = { inputs: [{ url: 'https://media.example.org/a.mp4' }] };

it('refuses what goes beyond the rate with the documented answer', async () => {
  api = await startApi({ rateLimits: slow });
  for (let i = 0; i < 3; i++) expect((await api.call('GET', '/video/v1/assets')).status).toBe(200);
  const refused = await api.call('GET', '/video/v1/assets');
  expect(refused.status).toBe(429);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(refused.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(await refused.json()).toEqual({ errors: ['Too many requests, retry later.'] });
  // The other class of methods has a bucket of its own.
  expect((await api.call('POST', '/video/v1/assets', body)).status).toBe(201);
  expect((await api.call('POST', '/video/v1/assets', body)).status).toBe(201);
  expect((await api.call('POST', '/video/v1/assets', body)).status).toBe(429);
});

it('counts each environment by itself, whichever of its tokens asks', async () => {
  api = await startApi({ rateLimits: slow });
  const environment = await api.newEnvironment('Other');
  const first = await api.newToken({ name: 'first', environmentId: environment.id });
  const second = await api.newToken({ name: 'second', environmentId: environment.id });
  const statuses: number[] = [];
  for (const token of [first, second, first, second, first]) {
    statuses.push((await api.callAs(token, 'GET', '/system/v1/whoami')).status);
  }
  expect(statuses).toEqual([200, 200, 200, 429, 429]);
  expect((await api.call('GET', '/system/v1/whoami')).status).toBe(200);
});

it('comes after route, method and credentials, and before permission, body and resource', async () => {
  api = await startApi({ rateLimits: slow });
  const readOnly = await api.newToken({ name: 'read', permissions: ['video:read'] });
  for (let i = 0; i < 2; i++) expect((await api.callAs(readOnly, 'POST', '/video/v1/assets', body)).status).toBe(403);
  expect((await api.callAs(readOnly, 'POST', '/video/v1/assets', body)).status).toBe(429);
  expect((await api.call('POST', '/video/v1/assets', '{')).status).toBe(429);
  expect((await api.call('POST', '/video/v1/nothing', body)).status).toBe(404);
  expect((await api.call('PUT', '/video/v1/assets', body)).status).toBe(405);
  expect((await api.callAs('nobody:wrong', 'POST', '/video/v1/assets', body)).status).toBe(401);
});

it('lets requests pass again with time', async () => {
  api = await startApi({ rateLimits: { post: undefined, other: { perSecond: 5, burst: 2 } } });
  const status = async () => (await api!.call('HEAD', '/video/v1/assets')).status;
  const early = [await status(), await status()];
  expect(early).toEqual([200, 200]);
  api.clock.aheadMs += 3_600_000;
  expect([await status(), await status()]).toEqual([200, 200]);
});

it('is told to the official SDK as its own class of error', async () => {
  api = await startApi({ rateLimits: { other: { perSecond: 0.001, burst: 1 } } });
  const sdk = api.sdk();
  await sdk.video.assets.list();
  await expect(sdk.video.assets.list()).rejects.toBeInstanceOf(Mux.RateLimitError);
});

it('is off when nothing is set', async () => {
  api = await startApi();
  const statuses = await Promise.all(
    Array.from({ length: 100 }, async () => (await api!.call('GET', '/system/v1/whoami')).status),
  );
  expect(new Set(statuses)).toEqual(new Set([200]));
});
