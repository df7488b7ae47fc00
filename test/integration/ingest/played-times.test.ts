import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, it as anyIt, beforeAll, describe, expect } from 'vitest';
import { ffmpegPath } from '../../support/media/ffmpeg-command.js';
import { readFrameCounters } from '../../support/media/measure.js';
import {
  FRAMES,
  isFast,
  nameOf,
  possibleCases,
  type TimeCase,
  timeCases,
  timingOf,
  wayOf,
} from '../../support/media/time-cases.js';
import { type ExpectedFrame, encodeFrames, expectedFrames, run, writeTimes } from '../../support/media/time-files.js';
import { pairsOf } from '../../support/pairs.js';
import { fetchBytes, isVideoPlaylist, mediaPlaylists, segmentsOf } from '../../support/players/play.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { type SlowOrigin, startSlowOrigin } from '../../support/servers/slow-origin.js';
import { api, createAsset } from '../../support/wire/create-asset.js';
import { withFiles } from '../../support/wire/static-renditions.js';

const it = anyIt.skipIf(!ffmpegPath);

const H264 = ['-c:v', 'libx264', '-preset', 'veryfast', '-x264-params', 'b-adapt=0:open-gop=0'];
const HEVC = ['-c:v', 'libx265', '-preset', 'ultrafast', '-tag:v', 'hvc1'];
const HEVC_PARAMETERS = 'log-level=none:open-gop=0:b-adapt=0';

/** NUT holds H.264. */
const ENCODERS = {
  'H.264': H264,
  '4:4:4': [...H264, '-pix_fmt', 'yuv444p'],
  HEVC,
  'HEVC of 12 bits': [...HEVC, '-pix_fmt', 'yuv420p12le'],
} as const;

const streamFile = (stream: keyof typeof ENCODERS, bFrames: number): string =>
  `${stream.replace(/[^a-z0-9]+/gi, '')}-${bFrames}.mp4`;

let server: Booted;
let origin: SlowOrigin;
const folder = mkdtempSync(join(tmpdir(), 'kinora-times-'));
beforeAll(async () => {
  for (const [stream, args] of Object.entries(ENCODERS) as [keyof typeof ENCODERS, readonly string[]][]) {
    for (const bFrames of [0, 2]) {
      const count = args.includes('libx265')
        ? ['-x265-params', `${HEVC_PARAMETERS}:bframes=${bFrames}`]
        : ['-bf', `${bFrames}`];
      encodeFrames(join(folder, streamFile(stream, bFrames)), FRAMES, [
        ...args,
        ...count,
        '-g',
        '8',
        '-sc_threshold',
        '0',
      ]);
    }
  }
  origin = await startSlowOrigin();
  server = await boot();
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const writeCase = (of: TimeCase): string => {
  const stream = streamFile(of.stream === 'NUT' ? 'H.264' : of.stream, of.order === 'without B-frames' ? 0 : 2);
  const file = nameOf(of).replace(/[^a-z0-9]+/gi, '-');
  const path = writeTimes(folder, `${file}.mp4`, join(folder, stream), timingOf(of));
  if (of.stream !== 'NUT') return path;
  run('-i', path, '-c', 'copy', join(folder, `${file}.nut`));
  return join(folder, `${file}.nut`);
};

/** How the frames of an asset are made, from its input info. */
const madeBy = async (id: string): Promise<string> => {
  const response = await api(server, 'GET', `/video/v1/assets/${id}/input-info`);
  const decision = ((await response.json()) as { data: { copy_decision: string }[] }).data[0]!.copy_decision;
  if (decision.includes('mezzanine')) return 'mezzanine';
  return /copied beside the ladder$/.exec(decision)?.[0] ?? decision.split(':')[0]!;
};

/** Repeats of the last frame are left out. */
const framesOf = (bytes: readonly Uint8Array[]): ExpectedFrame[] =>
  readFrameCounters(bytes)
    .map(({ counter, ptsSeconds }) => ({ counter, seconds: ptsSeconds }))
    .filter(({ counter }, frame, all) => counter !== all[frame - 1]?.counter);

/** Each frame at its time; of more than 60 frames a second, every second one or fewer. */
const expectFrames = (shown: readonly ExpectedFrame[], wanted: readonly ExpectedFrame[], isThinned: boolean): void => {
  // The last frame may be left out at its time and repeated after it.
  const played = shown.filter(({ counter }) => !isThinned || counter !== wanted.at(-1)!.counter);
  const counters = new Set(played.map(({ counter }) => counter));
  const expected = isThinned ? wanted.filter(({ counter }) => counters.has(counter)) : wanted;
  expect(played.map(({ counter }) => counter)).toEqual(expected.map(({ counter }) => counter));
  played.forEach(({ seconds }, frame) => {
    expect(Math.abs(seconds - expected[frame]!.seconds), `frame ${frame}`).toBeLessThan(0.0011);
  });
  if (isThinned) expect(played.length).toBeGreaterThanOrEqual(Math.floor(wanted.length / 4));
};

describe('every frame is played at its time', () => {
  it.each(timeCases.map((of) => [nameOf(of), of] as const))('%s', async (_, of) => {
    const path = writeCase(of);
    const url = origin.add(path.slice(folder.length + 1), readFileSync(path));
    const { id } = await createAsset(server, {
      inputs: [{ url }],
      playback_policies: ['public'],
      static_renditions: [{ resolution: 'highest' }],
    });
    const asset = await withFiles(server, id);
    expect(asset.status).toBe('ready');
    expect(await madeBy(id)).toBe(wayOf(of));
    const wanted = expectedFrames(timingOf(of));
    const isThinned = isFast(of);
    const playbackId = asset.playback_ids![0]!.id;
    for (const playlist of await mediaPlaylists(server.url, playbackId)) {
      if (!isVideoPlaylist(playlist)) continue;
      expectFrames(framesOf(await Promise.all((await segmentsOf(playlist)).map(fetchBytes))), wanted, isThinned);
    }
    const file = await fetchBytes(`${server.url}/${playbackId}/highest.mp4`);
    expectFrames(framesOf([file]), wanted, isThinned);
  });
});

it('any two values of two properties meet in a case, if they can', () => {
  const met = new Set(timeCases.flatMap(pairsOf));
  expect(possibleCases.flatMap(pairsOf).filter((pair) => !met.has(pair))).toEqual([]);
});
