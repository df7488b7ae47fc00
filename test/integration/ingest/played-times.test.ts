import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, it as anyIt, beforeAll, describe, expect } from 'vitest';
import { ffmpegPath } from '../../support/media/ffmpeg-command.js';
import { readFrameCounters } from '../../support/media/measure.js';
import {
  type ExpectedFrame,
  encodeFrames,
  expectedFrames,
  run,
  type Timing,
  writeTimes,
} from '../../support/media/time-files.js';
import { fetchBytes, isVideoPlaylist, mediaPlaylists, segmentsOf } from '../../support/players/play.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { type SlowOrigin, startSlowOrigin } from '../../support/servers/slow-origin.js';
import { api, createAsset } from '../../support/wire/create-asset.js';
import { withFiles } from '../../support/wire/static-renditions.js';

const it = anyIt.skipIf(!ffmpegPath);

const FRAMES = 48;

/** Frames per second, and the ticks per second of the file; `durations` in ticks where the rate varies. */
const RATES: readonly {
  readonly name: string;
  readonly timescale: number;
  readonly durations: (frame: number) => number;
}[] = [
  { name: '1 in 1/1', timescale: 1, durations: () => 1 },
  { name: '5 in 1/5', timescale: 5, durations: () => 1 },
  { name: '8 in 1/90000', timescale: 90_000, durations: () => 11_250 },
  { name: '10 in 1/10', timescale: 10, durations: () => 1 },
  { name: '12 in 1/600', timescale: 600, durations: () => 50 },
  { name: '15 in 1/15', timescale: 15, durations: () => 1 },
  { name: '23.976 in 1/24000', timescale: 24_000, durations: () => 1001 },
  { name: '25 in 1/25', timescale: 25, durations: () => 1 },
  { name: '30 in 1/1000', timescale: 1000, durations: (frame) => (frame % 3 === 2 ? 34 : 33) },
  { name: '60 in 1/90000', timescale: 90_000, durations: () => 1500 },
  { name: '120 in 1/90000', timescale: 90_000, durations: () => 750 },
  { name: '240 in 1/240', timescale: 240, durations: () => 1 },
  { name: 'variable in 1/1000', timescale: 1000, durations: (frame) => [40, 200, 17, 333, 100][frame % 5]! },
  { name: 'variable in 1/7', timescale: 7, durations: (frame) => [1, 3, 2, 1, 5][frame % 5]! },
  { name: 'bursts in 1/90000', timescale: 90_000, durations: (frame) => (frame % 12 === 0 ? 90_000 : 1800) },
];
const EDITS = ['none', 'start', 'end', 'both', 'empty'] as const;
const KINDS = [
  'without B-frames',
  'with B-frames',
  '4:4:4 with B-frames',
  'HEVC',
  'NUT',
  'without composition times',
] as const;
const LASTS = ['usual', 'short', 'long'] as const;

interface Case {
  readonly name: string;
  readonly kind: (typeof KINDS)[number];
  readonly timing: Timing;
}

const timingOf = (
  { timescale, durations }: (typeof RATES)[number],
  edit: (typeof EDITS)[number],
  last: (typeof LASTS)[number],
): Timing => {
  const all = Array.from({ length: FRAMES }, (_, frame) => durations(frame));
  const usual = all.at(-1)!;
  all[FRAMES - 1] = { usual, short: Math.max(Math.round(usual / 4), 1), long: Math.ceil(3.7 * timescale) }[last];
  const at = (frame: number): number => all.slice(0, frame).reduce((sum, ticks) => sum + ticks, 0);
  const edits = {
    none: undefined,
    start: { startTicks: at(5) },
    // Within a frame, which is a B-frame where there are any.
    end: { endTicks: at(FRAMES - 7) + Math.ceil(all[FRAMES - 7]! / 2) },
    both: { startTicks: at(14), endTicks: at(FRAMES - 8) },
    empty: { emptyTicks: 2 * usual },
  };
  return { timescale, durations: all, ...(edits[edit] && { edit: edits[edit] }) };
};

/** Every rate with four edit lists, kinds and ends: any two properties meet, if that makes sense. */
const CASES: readonly Case[] = RATES.flatMap((rate, row) =>
  [0, 1, 2, 3].map((column): Case => {
    const kind = KINDS[(row + 2 * column + (row >> 1)) % KINDS.length]!;
    const isPlain = kind === 'NUT' || kind === 'without composition times';
    const edit = isPlain ? 'none' : EDITS[(row + column) % EDITS.length]!;
    const last = LASTS[(row + column + (column >> 1)) % LASTS.length]!;
    const timing = timingOf(rate, edit, last);
    const name = `${rate.name}, edit list: ${edit}, ${kind}, last frame ${last}`;
    return {
      name,
      kind,
      timing: kind === 'without composition times' ? { ...timing, withoutComposition: true } : timing,
    };
  }),
);

const STREAMS: Readonly<Record<string, readonly string[]>> = {
  'without B-frames': ['-c:v', 'libx264', '-preset', 'veryfast', '-bf', '0'],
  'with B-frames': ['-c:v', 'libx264', '-preset', 'veryfast', '-bf', '2', '-x264-params', 'b-adapt=0:open-gop=0'],
  '4:4:4 with B-frames': ['-c:v', 'libx264', '-preset', 'veryfast', '-bf', '2', '-pix_fmt', 'yuv444p'],
  HEVC: [
    '-c:v',
    'libx265',
    '-preset',
    'ultrafast',
    '-tag:v',
    'hvc1',
    '-x265-params',
    'log-level=none:open-gop=0:bframes=2:b-adapt=0',
  ],
};

let server: Booted;
let origin: SlowOrigin;
const folder = mkdtempSync(join(tmpdir(), 'kinora-times-'));
beforeAll(async () => {
  for (const [kind, args] of Object.entries(STREAMS))
    encodeFrames(join(folder, `${kind.replace(/:/g, '')}.mp4`), FRAMES, [...args, '-g', '12', '-sc_threshold', '0']);
  origin = await startSlowOrigin();
  server = await boot();
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const writeCase = ({ name, kind, timing }: Case): string => {
  const stream = kind in STREAMS ? kind : 'with B-frames';
  const file = name.replace(/[^a-z0-9]+/gi, '-');
  const path = writeTimes(folder, `${file}.mp4`, join(folder, `${stream.replace(/:/g, '')}.mp4`), timing);
  if (kind !== 'NUT') return path;
  run('-i', path, '-c', 'copy', join(folder, `${file}.nut`));
  return join(folder, `${file}.nut`);
};

const ways = new Set<string>();

/** How the frames of an asset are made, from its input info. */
const wayOf = async (id: string): Promise<string> => {
  const answer = await api(server, 'GET', `/video/v1/assets/${id}/input-info`);
  const decision = ((await answer.json()) as { data: { copy_decision: string }[] }).data[0]!.copy_decision;
  if (decision.includes('mezzanine')) return 'mezzanine';
  return /copied beside the ladder$/.exec(decision)?.[0] ?? decision.split(':')[0]!;
};

/** Repeats of the last frame are left out. */
const framesOf = (bytes: readonly Uint8Array[]): ExpectedFrame[] =>
  readFrameCounters(bytes)
    .map(({ counter, ptsSeconds }) => ({ counter, seconds: ptsSeconds }))
    .filter(({ counter }, frame, all) => counter !== all[frame - 1]?.counter);

const MAX_RATE = 60;

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
  if (isThinned) expect(played.length).toBeGreaterThanOrEqual(wanted.length / 4);
};

describe('every frame is played at its time', () => {
  it.each(CASES.map((of) => [of.name, of] as const))('%s', async (_, of) => {
    const path = writeCase(of);
    const url = origin.add(path.slice(folder.length + 1), readFileSync(path));
    const { id } = await createAsset(server, {
      inputs: [{ url }],
      playback_policies: ['public'],
      static_renditions: [{ resolution: 'highest' }],
    });
    const asset = await withFiles(server, id);
    expect(asset.status).toBe('ready');
    ways.add(await wayOf(id));
    const wanted = expectedFrames(of.timing);
    const seconds = wanted.map((frame) => frame.seconds);
    const isThinned =
      seconds.some((time, frame) => (seconds[frame + MAX_RATE] ?? Infinity) - time < 1) || isFast(of.timing);
    const playbackId = asset.playback_ids![0]!.id;
    for (const playlist of await mediaPlaylists(server.url, playbackId)) {
      if (!isVideoPlaylist(playlist)) continue;
      expectFrames(framesOf(await Promise.all((await segmentsOf(playlist)).map(fetchBytes))), wanted, isThinned);
    }
    const file = await fetchBytes(`${server.url}/${playbackId}/highest.mp4`);
    expectFrames(framesOf([file]), wanted, isThinned);
  });
});

it('the cases are copied, copied beside the ladder, encoded, and transcoded before', () => {
  expect([...ways].sort()).toEqual(['copied', 'copied beside the ladder', 'encoded', 'mezzanine']);
});

/** More than 60 frames a second, also in a file that is shorter than a second. */
const isFast = ({ timescale, durations }: Timing): boolean =>
  Math.min(...durations.slice(0, -1)) * MAX_RATE < timescale;
