import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ratio, spread, table } from './support/figures.mjs';
import { startKinora } from './support/kinora.mjs';
import { movie, surround } from './support/media.mjs';
import { startOrigin } from './support/origin.mjs';
import { readMedia, readMultivariant } from './support/playlist.mjs';
import { ffmpeg } from './support/programs.mjs';

export const title = 'a chunk of audio (8 segments), compared with the ffmpeg command for the same seconds';
export const needs = ['ffmpeg'];

const REPETITIONS = 7;
const CHUNK_SEGMENTS = 8;

const sources = [
  ['AAC stereo, copied', () => movie(600), ['-c:a', 'copy']],
  ['FLAC 5.1 to AAC stereo', surround, ['-c:a', 'aac', '-b:a', '128k', '-ac', '2', '-ar', '48000']],
];

export const run = async () => {
  const server = await startKinora();
  const directory = await mkdtemp(join(tmpdir(), 'kinora-audio-'));
  try {
    const rows = [['audio', 'Kinora, ms', 'ffmpeg, ms', 'Kinora / ffmpeg', 'Kinora, times real time']];
    for (const [label, source, args] of sources) {
      const path = await source();
      const origin = await startOrigin(path);
      const asset = await server.createAsset(origin.url);
      const { audio } = await readMultivariant(server, asset.playbackId);
      const { segments } = await readMedia(server, audio);
      const [ours, theirs, speeds] = [[], [], []];
      for (let i = 0; i <= REPETITIONS; i++) {
        const chunk = segments.slice(CHUNK_SEGMENTS * (2 * i + 1), CHUNK_SEGMENTS * (2 * i + 2));
        const seconds = chunk.reduce((sum, segment) => sum + segment.seconds, 0);
        if (seconds < 24) break;
        await server.idle();
        const startedMs = performance.now();
        await server.get(chunk[0].path);
        const firstMs = performance.now() - startedMs;
        // The first request produces the whole chunk, so the other segments are cached.
        for (const { path: rest } of chunk) await server.get(rest);
        await server.idle();
        const file = join(directory, 'out.mp4');
        const place = ['-ss', String(chunk[0].start), '-i', path, '-t', String(seconds)];
        const reference = await ffmpeg(...place, '-vn', ...args, '-movflags', '+frag_keyframe+empty_moov', file).ended;
        if (i === 0) continue;
        ours.push(firstMs);
        theirs.push(reference.ms);
        speeds.push((1000 * seconds) / firstMs);
      }
      origin.stop();
      rows.push([label, spread(ours), spread(theirs), ratio(ours, theirs), spread(speeds)]);
    }
    console.log(`Median (min to max) of up to ${REPETITIONS} positions, alternating\n`);
    table(rows);
  } finally {
    await server.stop();
    await rm(directory, { recursive: true });
  }
};
