import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { lumaErrors, psnr } from '../../support/media/frame-error.js';
import { readLuma } from '../../support/media/measure.js';
import { fetchBytes, mediaPlaylists, segmentsOf } from '../../support/players/play.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { type SlowOrigin, startSlowOrigin } from '../../support/servers/slow-origin.js';
import { api, createAsset, settled } from '../../support/wire/create-asset.js';

let server: Booted;
let origin: SlowOrigin;
beforeAll(async () => {
  origin = await startSlowOrigin();
  server = await boot();
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
});

it.each([
  ['noisy-frame.mp4', 'fewer than 3 frames'],
  ['noisy-frames.mp4', 'more than 60 frames a second'],
] as const)(
  '%s, which has no more frames, is encoded as well as any other video, and input info says why',
  async (name, reason) => {
    const path = await fixture(name);
    const url = origin.add(name, await readFile(path));
    const { id } = await createAsset(server, { inputs: [{ url }], playback_policies: ['public'] });
    const asset = await settled(server, id);
    expect(asset.status).toBe('ready');
    const source = readLuma(path);
    const playlists = await mediaPlaylists(server.url, asset.playback_ids![0]!.id);
    const qualities: number[] = [];
    for (const playlist of playlists) {
      const played = readLuma(await Promise.all((await segmentsOf(playlist)).map(fetchBytes)));
      if (played[0]!.width === source[0]!.width)
        qualities.push(psnr(lumaErrors(played.slice(0, source.length), source)));
    }
    expect(qualities).toHaveLength(1);
    expect(qualities[0]).toBeGreaterThan(30);
    const info = (await (await api(server, 'GET', `/video/v1/assets/${id}/input-info`)).json()) as {
      data: { copy_decision?: string }[];
    };
    expect(info.data[0]!.copy_decision).toBe(`encoded: ${reason}`);
  },
);
