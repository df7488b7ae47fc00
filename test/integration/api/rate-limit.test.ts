import Mux from '@mux/mux-node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Api, startApi } from '../../support/servers/api.js';

const slow = { post: { perSecond: 0.001, burst: 2 }, other: { perSecond: 0.001, burst: 3 } };
const body = { inputs: [{ url: 'https://media.example.org/a.mp4' }] };

let api: Api;
let environments = 0;
beforeAll(async () => {
  api = await startApi({ rateLimits: slow });
});
afterAll(() => api?.stop());

/** Runs `work` on an API with other limits. */
const withLimits = async (rateLimits: object | undefined, work: (other: Api) => Promise<void>): Promise<void> => {
  const other = await startApi(rateLimits && { rateLimits });
  try {
    await work(other);
  } finally {
    await other.stop();
  }
};
/** Somebody who has not asked for anything yet, and nobody else of that environment. */
const newOwner = async (permissions?: string[]): Promise<string> => {
  environments += 1;
  const environment = await api.newEnvironment(`new ${environments}`);
  return api.newToken({ name: 'owner', environmentId: environment.id, ...(permissions && { permissions }) });
};

it('refuses what goes beyond the rate with the documented answer', async () => {
  const owner = await newOwner();
  for (let i = 0; i < 3; i++) expect((await api.callAs(owner, 'GET', '/video/v1/assets')).status).toBe(200);
  const refused = await api.callAs(owner, 'GET', '/video/v1/assets');
  expect(refused.status).toBe(429);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(refused.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(await refused.json()).toEqual({ errors: ['Too many requests, retry later.'] });
  // The other class of methods has a bucket of its own.
  expect((await api.callAs(owner, 'POST', '/video/v1/assets', body)).status).toBe(201);
  expect((await api.callAs(owner, 'POST', '/video/v1/assets', body)).status).toBe(201);
  expect((await api.callAs(owner, 'POST', '/video/v1/assets', body)).status).toBe(429);
});

it('counts each environment by itself, whichever of its tokens asks', async () => {
  const environment = await api.newEnvironment('Other');
  const first = await api.newToken({ name: 'first', environmentId: environment.id });
  const second = await api.newToken({ name: 'second', environmentId: environment.id });
  const statuses: number[] = [];
  for (const token of [first, second, first, second, first]) {
    statuses.push((await api.callAs(token, 'GET', '/system/v1/whoami')).status);
  }
  expect(statuses).toEqual([200, 200, 200, 429, 429]);
  expect((await api.callAs(await newOwner(), 'GET', '/system/v1/whoami')).status).toBe(200);
});

it('comes after route, method and credentials, and before permission, body and resource', async () => {
  const readOnly = await newOwner(['video:read']);
  for (let i = 0; i < 2; i++) expect((await api.callAs(readOnly, 'POST', '/video/v1/assets', body)).status).toBe(403);
  expect((await api.callAs(readOnly, 'POST', '/video/v1/assets', body)).status).toBe(429);
  expect((await api.callAs(readOnly, 'POST', '/video/v1/assets', '{')).status).toBe(429);
  expect((await api.callAs(readOnly, 'POST', '/video/v1/nothing', body)).status).toBe(404);
  expect((await api.callAs(readOnly, 'PUT', '/video/v1/assets', body)).status).toBe(405);
  expect((await api.callAs('nobody:wrong', 'POST', '/video/v1/assets', body)).status).toBe(401);
});

it('is told to the official SDK as its own class of error', async () => {
  const sdk = api.sdk(await newOwner());
  for (let i = 0; i < 3; i++) await sdk.video.assets.list();
  await expect(sdk.video.assets.list()).rejects.toBeInstanceOf(Mux.RateLimitError);
});

it('lets requests pass again with time', () =>
  withLimits({ post: undefined, other: { perSecond: 5, burst: 2 } }, async (other) => {
    const status = async () => (await other.call('HEAD', '/video/v1/assets')).status;
    expect([await status(), await status()]).toEqual([200, 200]);
    other.clock.aheadMs += 3_600_000;
    expect([await status(), await status()]).toEqual([200, 200]);
  }));

it('is off when nothing is set', () =>
  withLimits(undefined, async (other) => {
    const statuses = await Promise.all(
      Array.from({ length: 100 }, async () => (await other.call('GET', '/system/v1/whoami')).status),
    );
    expect(new Set(statuses)).toEqual(new Set([200]));
  }));
