import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { quietLogger } from '../../support/logger.js';
import { fixture } from '../../support/media/fixtures.js';
import { notReady } from '../../support/servers/api-load.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { hasPostgres, startPostgres, type TestPostgres } from '../../support/servers/postgres.js';
import { RESET_POINTS, type ResettingProxy, startResettingProxy } from '../../support/servers/resetting-proxy.js';
import { until } from '../../support/servers/server-process.js';
import { api, createAsset, getAsset, serveFiles, settled } from '../../support/wire/create-asset.js';
import { sendBytes, type WireUpload } from '../../support/wire/uploading.js';

/** A request must succeed again this long after a fault. */
const RECOVERY_MS = 15_000;
const IDLE_MS = 2000;

describe.skipIf(!hasPostgres())('a connection to PostgreSQL that is reset', () => {
  let postgres: TestPostgres;
  let network: ResettingProxy;
  let server: Booted;
  let origin: Origin;
  let file: Buffer;

  beforeAll(async () => {
    postgres = await startPostgres();
    const databaseUrl = await postgres.createDatabase('resets');
    network = await startResettingProxy(Number(new URL(databaseUrl).port));
    server = await boot({ options: { DATABASE_URL: network.behind(databaseUrl) }, logger: quietLogger });
    const path = await fixture('h264-aac.mp4');
    file = await readFile(path);
    origin = await serveFiles([path]);
  });
  afterAll(async () => {
    network?.disarm();
    await server?.stop();
    await network?.stop();
    await origin?.stop();
    await postgres?.stop();
  });

  const newUpload = async (): Promise<WireUpload> => {
    const response = await api(server, 'POST', '/video/v1/uploads', {
      new_asset_settings: { playback_policies: ['public'] },
    });
    expect(response.status).toBe(201);
    return ((await response.json()) as { data: WireUpload }).data;
  };
  const getUpload = async (id: string): Promise<WireUpload> =>
    ((await (await api(server, 'GET', `/video/v1/uploads/${id}`)).json()) as { data: WireUpload }).data;
  /**
   * Sends a request whose transaction is reset, and sends it again as a client does. What a reset
   * after COMMIT has done may be refused then. @returns the last response
   */
  const persist = async (what: string, send: () => Promise<Response>): Promise<Response> => {
    let response = await send();
    if (response.status === 503) {
      expect([what, Number(response.headers.get('retry-after')) > 0]).toEqual([what, true]);
      network.disarm();
      const passes = async () => {
        response = await send();
        return response.status !== 503;
      };
      await until(what, passes, RECOVERY_MS);
    }
    network.disarm();
    expect([what, response.status < 500]).toEqual([what, true]);
    return response;
  };

  it.each(RESET_POINTS)(
    'at the point "%s" of requests: they get 503, and succeed when they are sent again',
    async (point) => {
      const body = { inputs: [{ url: `${origin.url}/0` }], playback_policies: ['public'] };
      const { id, playback_ids } = await createAsset(server, body);
      expect((await settled(server, id)).status).toBe('ready');
      const [waiting, cancelled] = [await newUpload(), await newUpload()];
      const reset = async (method: string, path: string, sent?: object): Promise<Response> => {
        void network.resetAt(point);
        return persist(`${method} ${path}`, () => api(server, method, path, sent));
      };
      const created = (await (await reset('POST', '/video/v1/assets', body)).json()) as { data: { id: string } };
      expect((await reset('POST', '/video/v1/uploads', {})).status).toBe(201);
      await reset('PATCH', `/video/v1/assets/${id}`, { passthrough: 'changed' });
      expect((await getAsset(server, id)).passthrough).toBe('changed');
      expect((await reset('POST', `/video/v1/assets/${id}/playback-ids`, { policy: 'signed' })).status).toBe(201);
      await reset('DELETE', `/video/v1/assets/${id}/playback-ids/${playback_ids![0]!.id}`);
      expect((await getAsset(server, id)).playback_ids!.map(({ policy }) => policy)).not.toContain('public');
      await reset('PUT', `/video/v1/uploads/${cancelled.id}/cancel`);
      expect((await getUpload(cancelled.id)).status).toBe('cancelled');
      await reset('POST', '/system/v1/signing-keys');

      void network.resetAt(point);
      expect((await persist('the upload', () => sendBytes(waiting.url!, file))).status).toBe(200);
      const { asset_id } = await getUpload(waiting.id);
      expect((await settled(server, asset_id!)).status).toBe('ready');
      expect((await settled(server, created.data.id)).status).toBe('ready');

      await reset('DELETE', `/video/v1/assets/${id}`);
      expect((await api(server, 'GET', `/video/v1/assets/${id}`)).status).toBe(404);
      await until('ready', async () => (await notReady(server)) === undefined, RECOVERY_MS);
    },
  );

  it('while jobs work: they go on', async () => {
    const body = { inputs: [{ url: `${origin.url}/0` }], playback_policies: ['public'], mp4_support: 'capped-1080p' };
    for (const point of RESET_POINTS) {
      const created = await Promise.all([createAsset(server, body), createAsset(server, body)]);
      await network.resetAt(point);
      for (let round = 0; round < 5; round++) await Promise.race([network.resetAt(point), pause(IDLE_MS)]);
      network.disarm();
      for (const { id } of created) expect((await settled(server, id)).status).toBe('ready');
    }
  });

  it('when a request begins to send a file: nothing is discarded', async () => {
    const { id, url } = await newUpload();
    const half = file.length >> 1;
    const range = (start: number, end: number) => ({ 'content-range': `bytes ${start}-${end - 1}/${file.length}` });
    expect((await sendBytes(url!, file.subarray(0, half), range(0, half))).status).toBe(308);
    // The first statement of a whole file that replaces the first half, after the upload was read.
    const reset = network.resetBefore('from "upload" where "id" = $1 for update');
    const refused = await sendBytes(url!, file);
    await reset;
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([503, true]);
    expect((await getUpload(id)).status).toBe('waiting');
    expect((await sendBytes(url!, file)).status).toBe(200);
    const { asset_id } = await getUpload(id);
    expect((await settled(server, asset_id!)).status).toBe('ready');
  });
});
