import { percent, spread, table } from './support/figures.mjs';
import { startKinora } from './support/kinora.mjs';
import { movie } from './support/media.mjs';
import { startOrigin } from './support/origin.mjs';
import { CACHED_WITHIN_MS, play } from './support/player.mjs';
import { readMedia, readMultivariant } from './support/playlist.mjs';

export const title = 'viewers of a cold asset in real time: 40 s each, 30 s of buffer';
export const needs = ['ffmpeg'];

const SEGMENTS = 10;

/**
 * Concurrent viewers: [height, first segment]. Positions are far apart, so that no viewer benefits
 * from another.
 */
const audiences = [
  ['one, 720p', [[720, 20]]],
  ['one, 1080p', [[1080, 40]]],
  [
    'two, 720p and 480p',
    [
      [720, 60],
      [480, 60],
    ],
  ],
  [
    'two, 720p, two positions',
    [
      [720, 70],
      [720, 80],
    ],
  ],
  [
    'four, 480p, four positions',
    [
      [480, 90],
      [480, 101],
      [480, 112],
      [480, 123],
    ],
  ],
  [
    'four, 720p, four positions',
    [
      [720, 90],
      [720, 101],
      [720, 112],
      [720, 123],
    ],
  ],
];

export const run = async () => {
  const origin = await startOrigin(await movie(600));
  const server = await startKinora();
  try {
    const asset = await server.createAsset(origin.url);
    const { videos, audio } = await readMultivariant(server, asset.playbackId);
    const audioPlaylist = await readMedia(server, audio);
    const rows = [
      [
        'viewers',
        'first segment, s',
        `cached when requested (< ${CACHED_WITHIN_MS} ms)`,
        'longest wait / 4 s',
        'stalls',
        'stalled / played',
      ],
    ];
    for (const [label, viewers] of audiences) {
      await server.idle();
      const results = await Promise.all(
        viewers.map(async ([height, first]) => {
          const { init, segments } = await readMedia(
            server,
            videos.find((video) => video.height === height),
          );
          const range = [first, first + SEGMENTS];
          const [result] = await Promise.all([
            server.get(init).then(() => play(server, segments.slice(...range))),
            play(server, audioPlaylist.segments.slice(...range)),
          ]);
          return result;
        }),
      );
      const waits = results.flatMap((result) => result.waits.slice(1));
      const stalledSeconds = results.reduce((sum, result) => sum + result.stalledSeconds, 0);
      rows.push([
        label,
        spread(results.map((result) => result.startSeconds)),
        percent(waits.filter((ms) => ms < CACHED_WITHIN_MS).length / waits.length),
        (Math.max(...waits) / 4000).toFixed(2),
        String(results.reduce((sum, result) => sum + result.stalls, 0)),
        percent(stalledSeconds / (results.length * SEGMENTS * 4)),
      ]);
    }
    table(rows);
  } finally {
    await server.stop();
    origin.stop();
  }
};
