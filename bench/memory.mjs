import { setTimeout as delay } from 'node:timers/promises';
import { spread, table } from './support/figures.mjs';
import { startKinora } from './support/kinora.mjs';
import { megabytes, movie } from './support/media.mjs';
import { startOrigin } from './support/origin.mjs';
import { readMedia, readMultivariant } from './support/playlist.mjs';
import { memoryOf } from './support/processes.mjs';

export const title = 'memory during the ingest of a 1 GB file, compared with the file size and the idle server';
export const needs = ['ffmpeg'];

const REPETITIONS = 3;
const EVERY_MS = 100;
const SOURCE_SECONDS = 1860;

/** Peak memory while `work` runs. */
const peakDuring = async (server, work) => {
  let running = true;
  const peak = { server: 0, media: 0, total: 0 };
  const watch = async () => {
    while (running) {
      const now = memoryOf(server.pid);
      const { server: own, media } = now;
      for (const [name, value] of Object.entries({ server: own, media, total: own + media })) {
        peak[name] = Math.max(peak[name], value);
      }
      await delay(EVERY_MS);
    }
  };
  const watching = watch();
  const result = await work().finally(() => {
    running = false;
  });
  await watching;
  return { peak, result };
};

export const run = async () => {
  const path = await movie(SOURCE_SECONDS);
  const sizeMegabytes = await megabytes(path);
  const origin = await startOrigin(path);
  const states = { idle: [], ingest: [], watched: [] };
  try {
    for (let i = 0; i < REPETITIONS; i++) {
      const server = await startKinora();
      try {
        await server.idle();
        states.idle.push((await peakDuring(server, () => delay(500))).peak);
        const { peak, result: asset } = await peakDuring(server, () => server.createAsset(origin.url));
        states.ingest.push(peak);
        const { videos } = await readMultivariant(server, asset.playbackId);
        const { segments } = await readMedia(server, videos[0]);
        const watch = async () => {
          for (const segment of segments.slice(100, 106)) await server.get(segment.path);
        };
        states.watched.push((await peakDuring(server, watch)).peak);
      } finally {
        await server.stop();
      }
    }
  } finally {
    origin.stop();
  }
  console.log(
    `File of ${sizeMegabytes.toFixed(0)} MB. Peak in MB (proportional set size, every ${EVERY_MS} ms), median (min to max) of ${REPETITIONS}\n`,
  );
  const row = (label, peaks) => [
    label,
    ...['server', 'media', 'total'].map((name) => spread(peaks.map((peak) => peak[name]))),
    spread(peaks.map((peak) => peak.total / sizeMegabytes)),
    spread(peaks.map((peak, i) => peak.total / states.idle[i].total)),
  ];
  table([
    ['', 'server', 'media processes', 'total', 'total / file', 'total / idle'],
    row('idle', states.idle),
    row('download, index and first segments', states.ingest),
    row('six segments of 1080p in a row', states.watched),
  ]);
};
