import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Booted, boot } from '../../support/servers/boot.js';
import { type Origin, startOrigin } from '../../support/servers/origin.js';
import { until } from '../../support/servers/server-process.js';
import { api } from '../../support/wire/create-asset.js';

let server: Booted;
let receiver: Origin;
let stopped: Promise<void> | undefined;
/** Lets the receiver of webhooks answer. */
let release!: () => void;
const held = new Promise<void>((resolve) => {
  release = resolve;
});

beforeAll(async () => {
  server = await boot();
  receiver = await startOrigin(async (_, response) => {
    await held;
    response.end();
  });
});
afterAll(async () => {
  release();
  await (stopped ?? server?.stop());
  await receiver?.stop();
});

const readiness = async (): Promise<[number, unknown]> => {
  const response = await fetch(`${server.url}/readyz`);
  return [response.status, await response.json()];
};
const READY = [200, { status: 'ok' }];

it('a server whose storage is unavailable is not ready until it is back', async () => {
  expect(await readiness()).toEqual(READY);
  const blobs = join(server.dataDir, 'blobs');
  await rename(blobs, `${blobs}-away`);
  expect(await readiness()).toEqual([503, { status: 'unavailable', failed: ['storage'] }]);
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  await rename(`${blobs}-away`, blobs);
  expect(await readiness()).toEqual(READY);
});

it('a server that stops is not ready while it ends what it does', async () => {
  await api(server, 'POST', '/system/v1/webhooks', { address: `${receiver.url}/in` });
  await api(server, 'POST', '/video/v1/uploads', {});
  await until('a delivery is under way', () => receiver.requests.length > 0);
  expect(await readiness()).toEqual(READY);
  stopped = server.stop();
  // The signal may arrive after the next request.
  await expect.poll(readiness).toEqual([503, { status: 'unavailable', failed: ['background jobs'] }]);
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
});
