import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, it as anyIt, beforeAll, describe, expect } from 'vitest';
import { ffmpegPath } from '../../support/media/ffmpeg-command.js';
import { readFrameCounters } from '../../support/media/measure.js';
import {
  encodeFrames,
  frameTimes,
  fromSecondGop,
  run,
  withoutVops,
  withoutVui,
} from '../../support/media/time-files.js';
import { fetchBytes, isVideoPlaylist, mediaPlaylists, segmentsOf } from '../../support/players/play.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { type SlowOrigin, startSlowOrigin } from '../../support/servers/slow-origin.js';
import { createAsset, settled, type WireAsset } from '../../support/wire/create-asset.js';
import { eventsOf, eventTypes } from '../../support/wire/events.js';
import { filesOf, withFiles } from '../../support/wire/static-renditions.js';

const it = anyIt.skipIf(!ffmpegPath);

let server: Booted;
let origin: SlowOrigin;
const folder = mkdtempSync(join(tmpdir(), 'kinora-times-'));
beforeAll(async () => {
  origin = await startSlowOrigin();
  server = await boot();
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const at = (name: string): string => join(folder, name);
const numbers = (from: number, until: number): number[] => Array.from({ length: until - from }, (_, n) => from + n);

const ingest = async (name: string): Promise<WireAsset> => {
  const url = origin.add(name, readFileSync(at(name)));
  const { id } = await createAsset(server, { inputs: [{ url }], playback_policies: ['public'] });
  const asset = await settled(server, id);
  expect(asset.errors).toBeUndefined();
  return asset;
};

const playlistOf = async (asset: WireAsset): Promise<string> => {
  const playlists = await mediaPlaylists(server.url, asset.playback_ids![0]!.id);
  return playlists.find(isVideoPlaylist)!;
};

/** Frames of the largest rendition, with the repeats of a frame. */
const play = async (asset: WireAsset): Promise<{ counter: number; ptsSeconds: number }[]> =>
  readFrameCounters(await Promise.all((await segmentsOf(await playlistOf(asset))).map(fetchBytes)));

const isNew = ({ counter }: { counter: number }, frame: number, all: { counter: number }[]): boolean =>
  counter !== all[frame - 1]?.counter;

/** Every frame of the source once, at its time. */
const expectAll = async (asset: WireAsset, counters: readonly number[], secondsOf: (counter: number) => number) => {
  const frames = (await play(asset)).filter(isNew);
  expect(frames.map(({ counter }) => counter)).toEqual(counters);
  for (const { counter, ptsSeconds } of frames)
    expect(Math.abs(ptsSeconds - secondsOf(counter)), `frame ${counter}`).toBeLessThan(0.0011);
};

const warningsOf = async ({ id }: WireAsset): Promise<unknown[]> =>
  (await eventsOf(server, id)).flatMap(({ type, data }) => (type === 'video.asset.warning' ? [data.warning] : []));

describe('a last frame that is displayed for long in a container with coarse times', () => {
  it.each([
    ['slow.avi', ['-c:v', 'mjpeg', '-q:v', '2']],
    ['slow.ogv', ['-c:v', 'libtheora', '-q:v', '9']],
    ['slow.mov', ['-c:v', 'mjpeg', '-q:v', '2', '-video_track_timescale', '5']],
  ] as const)('%s with 5 frames a second', async (name, args) => {
    encodeFrames(at('slow.mp4'), 30, ['-c:v', 'mjpeg', '-q:v', '2']);
    run('-r', '5', '-i', at('slow.mp4'), ...args, at(name));
    const asset = await ingest(name);
    await expectAll(asset, numbers(0, 30), (counter) => counter / 5);
    expect(asset.duration).toBeCloseTo(6, 2);
    expect(await warningsOf(asset)).toEqual([]);
  });

  it('audio that ends 0.3 s after the last of 15 frames a second is played to its end', async () => {
    encodeFrames(at('fast.mp4'), 90, ['-c:v', 'mjpeg', '-q:v', '2']);
    const sine = ['-f', 'lavfi', '-i', 'sine=d=6.3'];
    run(
      '-r',
      '15',
      '-i',
      at('fast.mp4'),
      ...sine,
      '-c:v',
      'mjpeg',
      '-q:v',
      '2',
      '-c:a',
      'pcm_s16le',
      at('longer-audio.avi'),
    );
    const asset = await ingest('longer-audio.avi');
    await expectAll(asset, numbers(0, 90), (counter) => counter / 15);
    expect(Math.abs(asset.duration! - 6.3)).toBeLessThan(0.03);
  });

  it('a picture with music begins at zero in FFmpeg', async () => {
    encodeFrames(at('picture.mp4'), 1, ['-c:v', 'libx264']);
    run('-i', at('picture.mp4'), '-f', 'lavfi', '-i', 'sine=d=6.3', '-c:v', 'copy', '-c:a', 'aac', at('music.mp4'));
    const asset = await ingest('music.mp4');
    const times = await frameTimes(await playlistOf(asset));
    // Repeated once a second, and at the end.
    expect(times.slice(0, 7).map((seconds) => Math.round(seconds))).toEqual(numbers(0, 7));
    expect(times.at(-1)).toBeLessThan(6.3);
  });
});

describe('AVI with B-frames', () => {
  it.each([
    ['half.avi', 50],
    ['whole.avi', 25],
  ] as const)('%s: frames are played at their times in a file of %i ticks a second', async (name, rate) => {
    encodeFrames(at('reordered.mp4'), 150, ['-c:v', 'libx264', '-bf', '2', '-g', '50']);
    run('-i', at('reordered.mp4'), '-c', 'copy', at('half.avi'));
    run('-r', '25', '-i', at('half.avi'), '-c:v', 'mpeg4', '-q:v', '2', '-bf', '2', '-g', '50', at('whole.avi'));
    const file = readFileSync(at(name));
    // The rate in the header of the stream; the scale is 1.
    expect(file.readUInt32LE(file.indexOf('strh') + 32)).toBe(rate);
    await expectAll(await ingest(name), numbers(0, 150), (counter) => counter / 25);
  });
});

describe('B-frames whose presentation times are those at which they are decoded', () => {
  it.each(['decoded.mkv', 'decoded.nut', 'decoded.flv', 'decoded.ts', 'decoded.mp4'])('%s', async (name) => {
    encodeFrames(at(name), 150, ['-c:v', 'libx264', '-bf', '2', '-g', '50', '-bsf:v', 'setts=pts=DTS']);
    await expectAll(await ingest(name), numbers(0, 150), (counter) => counter / 25);
  });
});

it('a subtitle that ends after 99 hours does not make a short file too long', async () => {
  encodeFrames(at('short.mp4'), 150, ['-c:v', 'libx264', '-g', '50']);
  writeFileSync(at('late.srt'), '1\n00:00:05,000 --> 99:00:00,000\nStill here\n');
  run('-i', at('short.mp4'), '-i', at('late.srt'), '-c:v', 'copy', '-c:s', 'subrip', at('late.mkv'));
  const asset = await ingest('late.mkv');
  expect(asset.duration).toBeCloseTo(6, 1);
  await expectAll(asset, numbers(0, 150), (counter) => counter / 25);
});

describe('an elementary stream that declares no frame rate', () => {
  it.each([
    ['plain.h264', ['-c:v', 'libx264', '-profile:v', 'main', '-bf', '2']],
    ['plain.hevc', ['-c:v', 'libx265', '-x265-params', 'vui-timing-info=0:log-level=none']],
  ] as const)('%s: every frame is played, 25 a second, and a warning tells it', async (name, args) => {
    encodeFrames(at(name), 150, [...args, '-g', '50']);
    if (name === 'plain.h264') writeFileSync(at(name), withoutVui(readFileSync(at(name))));
    const asset = await ingest(name);
    await expectAll(asset, numbers(0, 150), (counter) => counter / 25);
    expect(await warningsOf(asset)).toEqual([
      { type: 'frame_rate_assumed', message: expect.stringContaining('25 frames a second are assumed') },
    ]);
  });

  it('one that declares 25 frames a second is played without a warning', async () => {
    encodeFrames(at('declared.h264'), 60, ['-c:v', 'libx264']);
    const asset = await ingest('declared.h264');
    await expectAll(asset, numbers(0, 60), (counter) => counter / 25);
    expect(await warningsOf(asset)).toEqual([]);
  });
});

describe('packets that hold no frame', () => {
  it.each(['none.mp4', 'none.avi', 'none.mkv'])(
    '%s: the frame before them is shown for twelve seconds',
    async (name) => {
      encodeFrames(at(`whole-${name}`), 400, [
        '-c:v',
        'mpeg4',
        '-q:v',
        '2',
        '-bf',
        '0',
        '-g',
        '25',
        '-sc_threshold',
        '1000000000',
      ]);
      writeFileSync(at(name), withoutVops(readFileSync(at(`whole-${name}`)), 50, 350));
      const asset = await ingest(name);
      await expectAll(asset, [...numbers(0, 50), ...numbers(350, 400)], (counter) => counter / 25);
    },
  );
});

it.each(['closed.ts', 'closed.mkv', 'closed.m2v'])('%s: B-frames before the first key frame are kept', async (name) => {
  encodeFrames(at('open.m2v'), 100, [
    '-c:v',
    'mpeg2video',
    '-q:v',
    '2',
    '-bf',
    '2',
    '-g',
    '12',
    '-sc_threshold',
    '1000000000',
    '-b_strategy',
    '0',
  ]);
  const cut = fromSecondGop(readFileSync(at('open.m2v')));
  writeFileSync(at('closed.m2v'), cut);
  if (name !== 'closed.m2v') run('-fflags', '+genpts', '-i', at('closed.m2v'), '-c', 'copy', at(name));
  const frames = cut.toString('latin1').split('\0\0\x01\0').length - 1;
  const asset = await ingest(name);
  // The first two lack what they were predicted from, so their counters can't be read.
  const times = await frameTimes(await playlistOf(asset));
  expect(times).toHaveLength(frames);
  times.forEach((seconds, frame) => {
    expect(Math.abs(seconds - times[0]! - frame / 25), `frame ${frame}`).toBeLessThan(0.0011);
  });
});

/** Motion JPEG whose listed frames are overwritten with zeros. */
const writeDamaged = (name: string, count: number, damaged: readonly number[]): void => {
  encodeFrames(at(name), count, ['-c:v', 'mjpeg', '-q:v', '2']);
  const bytes = readFileSync(at(name));
  let start = bytes.indexOf('ffd8ff', 0, 'hex');
  for (let frame = 0; frame <= Math.max(...damaged); frame++) {
    const next = bytes.indexOf('ffd8ff', start + 3, 'hex');
    if (damaged.includes(frame)) bytes.fill(0, start, next);
    start = next;
  }
  writeFileSync(at(name), bytes);
};

it('frames that cannot be decoded are counted in a warning', async () => {
  writeDamaged('damaged.mov', 150, [81, 82, 83]);
  const asset = await ingest('damaged.mov');
  await expectAll(asset, [...numbers(0, 81), ...numbers(84, 150)], (counter) => counter / 25);
  expect(await warningsOf(asset)).toEqual([
    { type: 'frames_lost', message: '3 frames of the video could not be decoded and were left out.' },
  ]);
});

describe('frames that are lost where the ingest did not look', () => {
  const damaged = [150, 151, 350, 351, 352];
  beforeAll(() => writeDamaged('late-damage.mov', 500, damaged));

  it('are told once, before the first segment without them is sent', async () => {
    const asset = await ingest('late-damage.mov');
    expect(await warningsOf(asset)).toEqual([]);
    const first = (await segmentsOf(await playlistOf(asset))).find((url) => url.endsWith('/2.m4s'))!;
    expect((await fetchBytes(first)).length).toBeGreaterThan(0);
    const warning = {
      type: 'frames_lost',
      message:
        '2 frames of the video between 4 s and 8 s could not be decoded and were left out. Other parts may lack frames too.',
    };
    expect(await warningsOf(asset)).toEqual([warning]);
    const kept = numbers(0, 500).filter((frame) => !damaged.includes(frame));
    await expectAll(asset, kept, (counter) => counter / 25);
    expect(await warningsOf(asset)).toEqual([warning]);
  });

  it('are told after `ready` when the ingest makes the segment', async () => {
    writeDamaged('early-damage.mov', 500, [50]);
    const asset = await ingest('early-damage.mov');
    const second = (await segmentsOf(await playlistOf(asset))).find((url) => url.endsWith('/1.m4s'))!;
    expect((await fetchBytes(second)).length).toBeGreaterThan(0);
    expect((await eventTypes(server, asset.id)).slice(-2)).toEqual(['ready', 'warning']);
    const message =
      '1 frame of the video between 1 s and 4 s could not be decoded and was left out. Other parts may lack frames too.';
    expect(await warningsOf(asset)).toEqual([{ type: 'frames_lost', message }]);
  });

  it('are told once when only a static rendition is made', async () => {
    const url = origin.add('file.mov', readFileSync(at('late-damage.mov')));
    const { id } = await createAsset(server, { inputs: [{ url }], static_renditions: [{ resolution: 'highest' }] });
    const asset = await withFiles(server, id);
    expect(filesOf(asset).map(({ status }) => status)).toEqual(['ready']);
    expect(await warningsOf(asset)).toEqual([
      { type: 'frames_lost', message: expect.stringContaining('frames of the video between') },
    ]);
  });
});
