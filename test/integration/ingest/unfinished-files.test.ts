import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { hurriedClock } from '../../support/hurried-clock.js';
import { boot } from '../../support/servers/boot.js';
import { type Origin, startOrigin } from '../../support/servers/origin.js';
import { cleanUpServers, makeDataDir, startServer } from '../../support/servers/server-process.js';
import { api, createAsset, settled } from '../../support/wire/create-asset.js';

const MIB = 2 ** 20;
let origin: Origin | undefined;
afterAll(async () => {
  await cleanUpServers();
  await origin?.stop();
});

describe('files that were never completed', () => {
  it('are removed when the download has failed for good', async () => {
    // It always breaks off behind 2 MiB of the 8 that it announces.
    origin = await startOrigin((_, response) => {
      response.writeHead(200, { 'content-length': 8 * MIB, etag: '"v1"' });
      response.write(Buffer.alloc(2 * MIB, 1), () => response.destroy());
    });
    const server = await boot({ clock: hurriedClock() });
    const created = await createAsset(server, {
      inputs: [
        { url: `${origin.url}/video` },
        { url: `${origin.url}/audio`, type: 'audio', language_code: 'fr' },
        { url: `${origin.url}/logo`, overlay_settings: { width: '10%' } },
      ],
    });
    expect(await settled(server, created.id)).toMatchObject({ status: 'errored' });
    expect(origin.requests.length).toBeGreaterThan(2);
    await expect.poll(() => readdirSync(join(server.dataDir, 'blobs', '.partial'))).toEqual([]);
    await server.stop();
  });

  it('are removed at a start unless something still needs them', async () => {
    const dataDir = makeDataDir();
    let server = await startServer({ dataDir });
    const response = await api(server, 'POST', '/video/v1/uploads', { new_asset_settings: {} });
    const { url } = ((await response.json()) as { data: { url: string } }).data;
    const chunk = await fetch(url, {
      method: 'PUT',
      headers: { 'content-range': 'bytes 0-99999/300000' },
      body: Buffer.alloc(100_000, 7),
    });
    expect(chunk.status).toBe(308);
    await server.stop();
    const partialDir = join(dataDir, 'blobs', '.partial');
    const kept = readdirSync(partialDir);
    // The file and the record of what is synced.
    expect(kept).toHaveLength(2);
    for (const name of ['assets~gone~source', 'assets~gone~tracks~t~source', 'assets~gone~index.bin+'])
      writeFileSync(join(partialDir, name), 'left behind');

    server = await startServer({ dataDir });
    expect(readdirSync(partialDir)).toEqual(kept);
    expect(server.log()).toContainEqual(expect.objectContaining({ files: 3 }));
    const { pathname, search } = new URL(url);
    const status = await fetch(`${server.url}${pathname}${search}`, {
      method: 'PUT',
      headers: { 'content-range': 'bytes */300000' },
    });
    expect(status.headers.get('range')).toBe('bytes=0-99999');
    await server.stop();
  });
});
