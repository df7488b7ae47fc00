import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, test as anyTest, beforeAll, expect } from 'vitest';
import { ffmpegPath } from '../../support/media/ffmpeg-command.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { createAsset, serveFiles, settled } from '../../support/wire/create-asset.js';
import { withTracks } from '../../support/wire/tracks.js';

const test = anyTest.skipIf(!ffmpegPath);

const run = promisify(execFile);
const RATE = 48_000;
const SECONDS = 6;
const TONES = [400, 600, 800, 1000];

let server: Booted;
let origin: Origin;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kinora-mono-'));
  const path = join(folder, 'broadcast.mxf');
  await run('ffmpeg', [
    ...['-v', 'error', '-f', 'lavfi', '-i', `testsrc=s=320x180:r=25:d=${SECONDS}`],
    ...TONES.flatMap((tone) => ['-f', 'lavfi', '-i', `sine=f=${tone}:r=${RATE}:d=${SECONDS}`]),
    ...['-map', '0:v', ...TONES.flatMap((_, at) => ['-map', `${at + 1}:a`])],
    ...['-c:v', 'mpeg2video', '-g', '12', '-c:a', 'pcm_s16le', path],
  ]);
  origin = await serveFiles([path]);
  server = await boot();
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
  await rm(folder, { recursive: true, force: true });
});

/**
 * The frequencies that are heard left and right of an audio rendition, by counting how often the
 * sign changes.
 */
const tonesOf = async (url: string): Promise<number[]> => {
  const args = ['-v', 'error', '-i', url, '-map', '0:a:0', '-ac', '2', '-ar', String(RATE), '-f', 's16le', '-'];
  const { stdout } = await run('ffmpeg', args, { encoding: 'buffer', maxBuffer: 2 ** 26 });
  const samples = new Int16Array(stdout.buffer, stdout.byteOffset, stdout.length >> 1);
  return [0, 1].map((channel) => {
    let changes = 0;
    // The four seconds from the second one on.
    for (let at = RATE + 1; at < 5 * RATE; at += 1)
      if (samples[2 * at + channel]! >= 0 !== samples[2 * at - 2 + channel]! >= 0) changes += 1;
    return Math.round(changes / 8 / 10) * 10;
  });
};

test('streams of one channel are heard left and right, and further pairs are tracks', async () => {
  const inputs = [{ url: `${origin.url}/0`, embedded_tracks: true }];
  const { id } = await createAsset(server, { inputs, playback_policies: ['public'] });
  const asset = await withTracks(server, await settled(server, id));
  expect(asset.tracks!.filter(({ type }) => type === 'audio')).toMatchObject([
    { primary: true, max_channels: 2, max_channel_layout: 'stereo' },
    { status: 'ready', max_channels: 2, max_channel_layout: 'stereo' },
  ]);
  const playback = `${server.url}/${asset.playback_ids![0]!.id}`;
  const playlist = await (await fetch(`${playback}.m3u8`)).text();
  const renditions = [...playlist.matchAll(/TYPE=AUDIO.*URI="(.*?)"/g)].map(
    ([, uri]) => new URL(uri!, `${playback}.m3u8`),
  );
  expect(await Promise.all(renditions.map(({ href }) => tonesOf(href)))).toEqual([
    [400, 600],
    [800, 1000],
  ]);
});
