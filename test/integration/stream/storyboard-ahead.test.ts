import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { createAsset, serveFiles, settled } from '../../support/wire/create-asset.js';

let server: Booted;
let origin: Origin;
beforeAll(async () => {
  origin = await serveFiles([await fixture('h264-aac.mp4')]);
  server = await boot();
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
});

const sheets = async (): Promise<string[]> =>
  (await readdir(server.dataDir, { recursive: true })).filter((path) => /storyboard-\w+\.jpg~/.test(path));

it('makes the sprite sheet that players ask for once an asset is ready, before any asks', async () => {
  const inputs = [{ url: `${origin.url}/0` }];
  const { id } = await createAsset(server, { inputs, playback_policies: ['public'] });
  const asset = await settled(server, id);
  await expect.poll(sheets).toHaveLength(1);
  const before = await sheets();
  const base = `${server.url}/${asset.playback_ids![0]!.id}`;
  const sheet = /^.*storyboard\.jpg.*(?=#)/m.exec(await (await fetch(`${base}/storyboard.vtt`)).text())![0];
  expect((await fetch(new URL(sheet, `${base}/storyboard.vtt`))).headers.get('content-type')).toBe('image/jpeg');
  expect(await sheets()).toEqual(before);
});
