import { stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { median, spread, table } from './support/figures.mjs';
import { startKinora } from './support/kinora.mjs';
import { movie } from './support/media.mjs';
import { startOrigin } from './support/origin.mjs';
import { readMedia, readMultivariant } from './support/playlist.mjs';

export const title =
  'from POST to the first video: one minute from the same machine, two hours over a line of 100 Mb/s';
export const needs = ['ffmpeg'];

const REPETITIONS = 3;
const LINE_BYTES_PER_SECOND = 12_500_000;
const LONG_SECONDS = 7200;

/**
 * Loads the first video and audio segment of the start rendition. Retries until the asset can be
 * played.
 */
const firstSegments = async (server, playbackId) => {
  for (;;) {
    try {
      const { listed, audio } = await readMultivariant(server, playbackId);
      const playlists = await Promise.all([readMedia(server, listed[0]), readMedia(server, audio)]);
      await Promise.all(playlists.flatMap(({ init, segments }) => [server.get(init), server.get(segments[0].path)]));
      return { listed, playlists };
    } catch (error) {
      if (!/: 412 /.test(error.message)) throw error;
      await delay(20);
    }
  }
};

const playOnce = async (server, origin) => {
  const before = origin.sentBytes;
  const postedMs = performance.now();
  const asset = await server.api('POST', '/assets', { inputs: [{ url: origin.url }], playback_policies: ['public'] });
  const { playlists } = await firstSegments(server, asset.playback_ids[0].id);
  const first = { seconds: (performance.now() - postedMs) / 1000, megabytes: (origin.sentBytes - before) / 1e6 };
  const { status } = await server.api('GET', `/assets/${asset.id}`);
  const [{ segments }] = playlists;
  const seekMs = performance.now();
  await server.get(segments[Math.floor(segments.length * 0.7)].path);
  const seek = (performance.now() - seekMs) / 1000;
  await server.api('DELETE', `/assets/${asset.id}`);
  await server.idle();
  return { ...first, seek, status };
};

const measure = async (server, seconds, bytesPerSecond) => {
  const path = await movie(seconds);
  const { size } = await stat(path);
  const origin = await startOrigin(path, { bytesPerSecond });
  try {
    await playOnce(server, origin);
    const runs = [];
    for (let i = 0; i < REPETITIONS; i += 1) runs.push(await playOnce(server, origin));
    const of = (field) => runs.map((result) => result[field]);
    const download = bytesPerSecond && size / bytesPerSecond;
    const whole = download ?? seconds;
    console.log(
      download
        ? `${seconds} s of video, ${(size / 1e6).toFixed(0)} MB; the download alone takes ${download.toFixed(0)} s\n`
        : `${seconds} s of video, ${(size / 1e6).toFixed(0)} MB, from the same machine\n`,
    );
    table([
      ['', 'median (min to max)', `relative to ${download ? 'the whole file' : 'the duration or the file'}`],
      ['POST to first video and audio, s', spread(of('seconds')), (median(of('seconds')) / whole).toFixed(4)],
      ['fetched until then, MB', spread(of('megabytes')), ((median(of('megabytes')) * 1e6) / size).toFixed(4)],
      ['seek to a cold position at 70 %, s', spread(of('seek')), (median(of('seek')) / whole).toFixed(4)],
    ]);
    if (download && of('status').some((status) => status !== 'preparing'))
      throw new Error('the asset was ready before it played');
  } finally {
    origin.stop();
  }
};

export const run = async () => {
  const server = await startKinora();
  try {
    await measure(server, 60);
    await measure(server, LONG_SECONDS, LINE_BYTES_PER_SECOND);
  } finally {
    await server.stop();
  }
};
