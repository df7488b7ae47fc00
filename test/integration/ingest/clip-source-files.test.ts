import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { playThrough } from '../../support/players/play-through.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { until } from '../../support/servers/server-process.js';
import { api, createAsset, serveFiles, settled } from '../../support/wire/create-asset.js';
import { filesOf, withFiles } from '../../support/wire/static-renditions.js';
import { withTracks } from '../../support/wire/tracks.js';

let server: Booted;
let origin: Origin;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kinora-clip-source-'));
  const text = join(folder, 'text.vtt');
  await writeFile(text, 'WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nlater\n');
  origin = await serveFiles([await fixture('h264-aac.mp4'), text]);
  server = await boot();
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
  await rm(folder, { recursive: true, force: true });
});

test('of a deleted asset only what its clips play stays', async () => {
  const { id } = await createAsset(server, {
    inputs: [{ url: `${origin.url}/0` }],
    static_renditions: [{ resolution: 'audio-only' }],
  });
  expect(filesOf(await withFiles(server, id))).toMatchObject([{ status: 'ready' }]);
  const made = await createAsset(server, {
    inputs: [{ url: `mux://assets/${id}`, start_time: 1, end_time: 3 }],
    playback_policies: ['public'],
  });
  const clip = await settled(server, made.id);
  expect(clip.status).toBe('ready');
  // The clip was made before.
  const track = { url: `${origin.url}/1`, type: 'text', language_code: 'en' };
  expect((await api(server, 'POST', `/video/v1/assets/${id}/tracks`, track)).status).toBe(201);
  const { tracks } = await withTracks(server, await settled(server, id));
  expect(tracks!.at(-1)).toMatchObject({ type: 'text', status: 'ready' });

  const filesBelow = (name: string): string[] => {
    const path = join(server.dataDir, 'blobs', 'assets', id, name);
    return existsSync(path) ? readdirSync(path) : [];
  };
  expect(filesBelow('renditions')).toHaveLength(1);
  expect(filesBelow('tracks')).toHaveLength(1);
  expect((await api(server, 'DELETE', `/video/v1/assets/${id}`)).status).toBe(204);
  await until('the rest is removed', async () => filesBelow('renditions').length + filesBelow('tracks').length === 0);
  const played = await playThrough(`${server.url}/${clip.playback_ids![0]!.id}.m3u8`);
  expect(played.variants.length).toBeGreaterThan(0);
});
