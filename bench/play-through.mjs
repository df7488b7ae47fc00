import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ratio, spread, table } from './support/figures.mjs';
import { startKinora } from './support/kinora.mjs';
import { maxRates, scaleTo, x264 } from './support/ladder.mjs';
import { movie } from './support/media.mjs';
import { startOrigin } from './support/origin.mjs';
import { readMedia, readMultivariant } from './support/playlist.mjs';
import { ffmpeg } from './support/programs.mjs';

export const title =
  'a whole rung, segment by segment without pauses, compared with one ffmpeg run that encodes the rung';
export const needs = ['ffmpeg'];

const REPETITIONS = 3;

export const run = async () => {
  const path = await movie(60);
  const origin = await startOrigin(path);
  const server = await startKinora();
  const directory = await mkdtemp(join(tmpdir(), 'kinora-rung-'));
  try {
    const rows = [['rung of one minute', 'Kinora, s', 'ffmpeg, s', 'Kinora / ffmpeg', 'Kinora, times real time']];
    const results = new Map();
    for (let i = 0; i < REPETITIONS; i++) {
      const asset = await server.createAsset(origin.url);
      const { videos } = await readMultivariant(server, asset.playbackId);
      for (const rung of videos) {
        const { init, segments } = await readMedia(server, rung);
        await server.idle();
        const startedMs = performance.now();
        await server.get(init);
        for (const segment of segments) await server.get(segment.path);
        const seconds = (performance.now() - startedMs) / 1000;
        await server.idle();
        const encoder = [...x264(maxRates[rung.height]), '-g', '120', '-keyint_min', '120', '-sc_threshold', '0'];
        const file = join(directory, 'rung.m3u8');
        const hls = ['-f', 'hls', '-hls_time', '4', '-hls_playlist_type', 'event', '-hls_segment_type', 'fmp4', file];
        const reference = await ffmpeg('-i', path, '-an', '-vf', scaleTo(rung), '-c:v', 'libx264', ...encoder, ...hls)
          .ended;
        const { ours, theirs } = results.get(rung.height) ?? { ours: [], theirs: [] };
        results.set(rung.height, { ours: [...ours, seconds], theirs: [...theirs, reference.ms / 1000] });
      }
      await server.api('DELETE', `/assets/${asset.id}`);
      await server.idle();
    }
    for (const [height, { ours, theirs }] of results) {
      rows.push([
        `${height}p`,
        spread(ours),
        spread(theirs),
        ratio(ours, theirs),
        spread(ours.map((seconds) => 60 / seconds)),
      ]);
    }
    console.log(
      `Median (min to max) of ${REPETITIONS}, alternating; the first two segments of the start rung are made at ingest\n`,
    );
    table(rows);
  } finally {
    await server.stop();
    origin.stop();
    await rm(directory, { recursive: true });
  }
};
