import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { median, ratio, spread, table } from './support/figures.mjs';
import { startKinora } from './support/kinora.mjs';
import { maxRates, scaleTo, x264 } from './support/ladder.mjs';
import { megabytes, movie } from './support/media.mjs';
import { startOrigin } from './support/origin.mjs';
import { readMedia, readMultivariant } from './support/playlist.mjs';
import { ffmpeg } from './support/programs.mjs';

export const title = 'from POST to ready, compared with an HLS ladder made by ffmpeg from the same URL';
export const needs = ['ffmpeg'];

const REPETITIONS = 3;
const LENGTHS = [10, 60, 600, 7200];

/**
 * Seconds from POST until an asset is ready, until a player can start, and until every rung has its
 * first segment.
 */
const measureKinora = async (server, origin) => {
  const asset = await server.createAsset(origin.url);
  const lastByteMs = origin.lastByteMs;
  const { listed, videos, audio } = await readMultivariant(server, asset.playbackId);
  const [videoPlaylist, audioPlaylist] = await Promise.all([readMedia(server, listed[0]), readMedia(server, audio)]);
  await Promise.all(
    [videoPlaylist, audioPlaylist].flatMap(({ init, segments }) => [server.get(init), server.get(segments[0].path)]),
  );
  const playableMs = performance.now();
  const firsts = async (rendition) => {
    const { init, segments } = await readMedia(server, rendition);
    await Promise.all([server.get(init), server.get(segments[0].path)]);
  };
  await Promise.all(videos.map(firsts));
  const everyRungMs = performance.now();
  await server.api('DELETE', `/assets/${asset.id}`);
  await server.idle();
  const since = (ms) => (ms - asset.postedMs) / 1000;
  return {
    rungs: videos,
    stored: since(lastByteMs),
    ready: since(asset.readyMs),
    afterLastByte: (asset.readyMs - lastByteMs) / 1000,
    playable: since(playableMs),
    everyRung: since(everyRungMs),
  };
};

/** Seconds until one ffmpeg run has the first segment of each of these rungs, and until it ends. */
const measureLadder = async (origin, rungs) => {
  const directory = await mkdtemp(join(tmpdir(), 'kinora-ladder-'));
  const split = `[0:v]split=${rungs.length}${rungs.map((_, i) => `[s${i}]`).join('')}`;
  const scales = rungs.map((rung, i) => `[s${i}]${scaleTo(rung)}[v${i}]`);
  const outputs = rungs.flatMap(({ height }, i) => {
    const keys = ['-g', '120', '-keyint_min', '120', '-sc_threshold', '0'];
    const hls = ['-f', 'hls', '-hls_time', '4', '-hls_playlist_type', 'event', '-hls_segment_type', 'fmp4'];
    const init = ['-hls_fmp4_init_filename', `init-${i}.mp4`];
    const file = join(directory, `${i}.m3u8`);
    return [
      '-map',
      `[v${i}]`,
      '-map',
      '0:a',
      '-c:v',
      'libx264',
      ...x264(maxRates[height]),
      ...keys,
      '-c:a',
      'aac',
      '-b:a',
      '128k',
      ...hls,
      ...init,
      file,
    ];
  });
  const run = ffmpeg('-i', origin.url, '-filter_complex', [split, ...scales].join(';'), ...outputs);
  let running = true;
  const ended = run.ended.finally(() => {
    running = false;
  });
  // A rung's playlist appears when its first segment is complete.
  while (running && !rungs.every((_, i) => existsSync(join(directory, `${i}.m3u8`)))) await delay(10);
  const everyRung = (performance.now() - run.startedMs) / 1000;
  const { ms } = await ended;
  await rm(directory, { recursive: true });
  return { everyRung, end: ms / 1000 };
};

export const run = async () => {
  const server = await startKinora();
  try {
    await lengths(server, await againstLadder(server));
  } finally {
    await server.stop();
  }
};

const againstLadder = async (server) => {
  const path = await movie(60);
  const origin = await startOrigin(path);
  const ours = [];
  const theirs = [];
  await measureKinora(server, origin);
  for (let i = 0; i < REPETITIONS; i++) {
    ours.push(await measureKinora(server, origin));
    theirs.push(await measureLadder(origin, ours[0].rungs));
  }
  origin.stop();
  const of = (results, field) => results.map((result) => result[field]);
  const row = (label, field, reference) => [
    label,
    spread(of(ours, field)),
    spread(of(theirs, reference)),
    ratio(of(theirs, reference), of(ours, field)),
  ];
  console.log(
    `One minute, ${(await megabytes(path)).toFixed(0)} MB, seconds: median (min to max) of ${REPETITIONS}, alternating\n`,
  );
  table([
    ['from POST, or the start of ffmpeg', 'Kinora', 'ffmpeg', 'times faster'],
    row('ready, vs. the first segment of every rung', 'ready', 'everyRung'),
    row('first video and audio loaded, vs. the same', 'playable', 'everyRung'),
    row('first segment of every rung', 'everyRung', 'everyRung'),
    row('every position playable, vs. the complete ladder', 'ready', 'end'),
  ]);
  return of(ours, 'afterLastByte');
};

const lengths = async (server, minute) => {
  const reference = median(minute);
  const rows = [
    ['source', 'MB', 'download, s', 'ready after the last byte, s', 'relative to one minute', 'share of play time'],
  ];
  for (const seconds of LENGTHS) {
    const path = await movie(seconds);
    const origin = await startOrigin(path);
    const results = [];
    for (let i = 0; i < (seconds > 600 ? 2 : REPETITIONS); i++) results.push(await measureKinora(server, origin));
    origin.stop();
    const after = results.map((result) => result.afterLastByte);
    rows.push([
      seconds < 60 ? `${seconds} s` : `${seconds / 60} min`,
      (await megabytes(path)).toFixed(0),
      spread(results.map((result) => result.stored)),
      spread(after),
      `x ${(median(after) / reference).toFixed(2)}`,
      `${((100 * median(after)) / seconds).toFixed(2)} %`,
    ]);
  }
  console.log('\nReady by source length\n');
  table(rows);
};
