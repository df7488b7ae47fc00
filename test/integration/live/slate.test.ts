import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeSlate } from '#kinora/engine/live/slate.js';
import { readOverlayImage } from '#kinora/engine/video/overlay-image.js';
import type { Clock } from '#kinora/lib/clock.js';
import type { IngestPacket } from '#kinora/live/ingest.js';
import { Recording, type RecordingOptions } from '#kinora/live/recording/recording.js';
import { Slate } from '#kinora/live/slate/slate.js';
import { SlateMaker, type SlateMakerDeps } from '#kinora/live/slate/slate-maker.js';
import { readAvcc } from '#kinora/media/codecs/avc.js';
import type { LiveTrackState } from '#kinora/media/live/live-track.js';
import type { MediaJob } from '#kinora/pool/protocol.js';
import { DiskBlobStore } from '#kinora/storage/disk/disk-blob-store.js';
import { quietLogger } from '../../support/logger.js';
import { writeMedia } from '../../support/media/fixture-media.js';
import type { AudioRecipe, MediaRecipe, VideoRecipe } from '../../support/media/fixture-recipe.js';
import { readFlvPackets } from '../../support/media/flv-packets.js';
import { counterOf, type RgbFrame, readAudio, readRgbFrames } from '../../support/media/measure.js';
import { writePng } from '../../support/media/png.js';
import { initOf, makeSegments, planFile, segmentNumbers } from '../../support/media/video-run.js';
import { until } from '../../support/servers/server-process.js';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'kinora-slate-'));
});
afterAll(() => rm(root, { recursive: true }));

const video: VideoRecipe = {
  encoder: 'libx264',
  width: 320,
  height: 180,
  rate: [30, 1],
  gop: 60,
  bFrames: 2,
  options: { preset: 'veryfast', crf: '30', 'x264-params': 'scenecut=0:open-gop=0:threads=1' },
};
const audio: AudioRecipe = { encoder: 'aac', sampleRate: 48_000, channels: 2, bitRate: 96_000 };
const SECONDS = 4;
const FRAMES = SECONDS * 30;

let files = 0;
const makePackets = (recipe: Omit<MediaRecipe, 'muxer' | 'seconds'>): IngestPacket[] => {
  files += 1;
  const path = join(root, `${files}.flv`);
  writeMedia({ muxer: 'flv', seconds: SECONDS, ...recipe }, path);
  return readFlvPackets(path);
};

/** A clock that stands still until the test moves it. */
class ManualClock implements Clock {
  ms = 1_800_000_000_000;
  now = (): Date => new Date(this.ms);
  monotonicMs = (): number => this.ms;
}

/** Runs the jobs of slates in this process. */
const pool = {
  run: async (job: MediaJob) => (job.kind === 'slate' ? encodeSlate(job) : readOverlayImage(job as never)),
} as unknown as SlateMakerDeps['pool'];

const KEY = 'assets/a/source';
const RED = writePng(64, 36, () => [200, 30, 40, 255]);

const open = async (options: Partial<RecordingOptions> = {}) => {
  const dir = await mkdtemp(join(root, 'blobs-'));
  const blobs = new DiskBlobStore(dir);
  const clock = new ManualClock();
  const noEvent = (): void => undefined;
  const events = { playable: noEvent, forcedCut: noEvent, problem: noEvent, failed: noEvent };
  const all: RecordingOptions = {
    ...{ blobs, key: KEY, assetId: 'a', latencyMode: 'low', firstSequence: 0, firstDiscontinuity: 0, clock, events },
    logger: quietLogger,
    ...options,
  };
  const recording = await Recording.open(all);
  return { recording, options: all, clock, blobs, dir, path: join(dir, KEY) };
};
type Opened = Awaited<ReturnType<typeof open>>;

/** The encoder sends all of it in real time, as far as the clock knows. */
const send = ({ recording, clock }: Pick<Opened, 'recording' | 'clock'>, packets: readonly IngestPacket[]): void => {
  recording.beginSession(clock.ms, 'content');
  for (const packet of packets) recording.write(packet);
  recording.endSession();
  clock.ms += SECONDS * 1000;
};

const openSlate = async (
  { recording, clock, blobs, dir }: Pick<Opened, 'recording' | 'clock' | 'blobs' | 'dir'>,
  { image = RED, maxGapMs = 60_000 }: { image?: Buffer | undefined; maxGapMs?: number } = {},
) => {
  const began: Date[] = [];
  const unusable: string[] = [];
  const fetcher = {
    fetch: async (_url: string, target: Parameters<SlateMakerDeps['fetcher']['fetch']>[1]) => {
      await target.write(image);
      return target.commit();
    },
  };
  const slate = new Slate({
    maker: new SlateMaker({ pool, fetcher, blobs, temporaryDir: dir }),
    ...{ recording, clock, maxGapMs },
    imageUrl: 'https://example.com/slate.png',
    logger: quietLogger,
    onBegin: (startedAt) => began.push(startedAt),
    onUnusable: (reason) => unusable.push(reason),
  });
  return { slate, began, unusable };
};

/** Plays the slate for a time, which the clock jumps over. */
const playFor = async (slate: Slate, clock: ManualClock, ms: number): Promise<void> => {
  clock.ms += ms;
  slate.begin();
  await until('the slate is played', async () => slate.isPlaying);
  slate.end();
};

const meanOf = ({ rgb }: RgbFrame): number[] =>
  [0, 1, 2].map((color) => {
    let sum = 0;
    for (let at = color; at < rgb.length; at += 3) sum += rgb[at]!;
    return sum / (rgb.length / 3);
  });
const expectColor = (frame: RgbFrame, color: readonly number[]): void => {
  for (const [index, mean] of meanOf(frame).entries()) expect(Math.abs(mean - color[index]!)).toBeLessThan(6);
};
const countersOf = (frames: readonly RgbFrame[]): (number | undefined)[] => frames.map(counterOf);
const upTo = (count: number, from = 0): number[] => Array.from({ length: count }, (_, index) => from + index);

/** Segments follow each other, and wall clock and timeline go on together. */
const expectLegal = ({ segments, info }: LiveTrackState): void => {
  for (const [index, segment] of segments.entries()) {
    expect(segment.number).toBe(index);
    const next = segments[index + 1];
    if (!next) continue;
    const endTicks = segment.startTicks + segment.durationTicks;
    // Video may wait for the last audio frame of a session.
    expect(Math.abs(next.startTicks - endTicks) / info.timescale).toBeLessThan(0.1);
    if (!next.discontinuity) expect(next.startTicks).toBe(endTicks);
    expect(Math.abs(next.wallMs - segment.wallMs - (segment.durationTicks * 1000) / info.timescale)).toBeLessThan(150);
  }
};

const contentOf = (recipe: Omit<MediaRecipe, 'muxer' | 'seconds'>) => ({
  first: makePackets(recipe),
  second: makePackets({ ...recipe, firstCounter: FRAMES }),
});

describe('a slate', () => {
  it.each<[string, VideoRecipe]>([
    ['profile high, B-frames', video],
    ['profile main, 29.97 fps', { ...video, rate: [30_000, 1001], options: { ...video.options, profile: 'main' } }],
    ['profile baseline', { ...video, bFrames: 0, options: { ...video.options, profile: 'baseline' } }],
  ])('fills the time without encoder, and the recording can be copied: %s', async (_name, recipe) => {
    const opened = await open();
    const { recording, clock, path } = opened;
    const { first, second } = contentOf({ video: recipe, audio });
    send(opened, first);
    const { slate, began } = await openSlate(opened);
    const startMs = recording.endWallMs!;
    await playFor(slate, clock, 5000);
    expect(began.map((date) => date.getTime())).toEqual([Math.floor(startMs)]);
    expect(clock.ms - recording.endWallMs!).toBeLessThan(50);
    send(opened, second);
    const { segments, info } = recording.track('270p')!;
    for (const name of recording.trackNames) expectLegal(recording.track(name)!);
    const breaks = segments.filter(({ discontinuity }) => discontinuity);
    expect(breaks.map(({ config }) => config)).toEqual([1, 0]);
    expect(recording.track('audio')!.segments.map(({ discontinuity }) => discontinuity)).toEqual(
      segments.map(({ discontinuity }) => discontinuity),
    );

    // As a live player sees it, with an init segment of its own.
    const shown = segments.filter(({ config }) => config === 1);
    const bytes = await Promise.all(shown.map(({ number }) => recording.read('270p', number)));
    const slateFrames = readRgbFrames([recording.init('270p', 1)!, ...bytes.map((each) => each!)]);
    for (const frame of slateFrames) expectColor(frame, [200, 30, 40]);
    expect(slateFrames.length / info.frameRate!).toBeCloseTo(5, 0);

    await recording.finish();
    const planned = await planFile(path, { quality: 'plus' });
    const copy = planned.video.renditions.find(({ kind }) => kind === 'copy')!;
    expect(copy).toBeDefined();
    const parts = await makeSegments(planned, copy, segmentNumbers(planned));
    const counters = countersOf(readRgbFrames([initOf(planned, copy), ...parts]));
    const frames = Math.round((SECONDS * recipe.rate[0]) / recipe.rate[1]);
    expect(counters.slice(0, frames)).toEqual(upTo(frames));
    expect(counters.slice(-frames)).toEqual(upTo(frames, FRAMES));
    expect(counters.slice(frames, -frames)).toEqual(slateFrames.map(() => undefined));

    const { channels, sampleRate } = readAudio(path);
    const silent = channels[0]!.subarray((SECONDS + 0.1) * sampleRate, (SECONDS + 4.8) * sampleRate);
    expect(silent.every((sample) => sample === 0)).toBe(true);
    expect(channels[0]!.length / sampleRate).toBeCloseTo(2 * SECONDS + 5, 0);
  });

  it('has the shape of the image in the middle, and black around it and behind it', async () => {
    const opened = await open();
    send(opened, makePackets({ video }));
    const image = writePng(100, 100, (x) => [0, 0, 255, x < 50 ? 255 : 0]);
    const { slate } = await openSlate(opened, { image });
    await playFor(slate, opened.clock, 3000);
    const { recording } = opened;
    const last = recording.track('270p')!.segments.at(-1)!;
    const [frame] = readRgbFrames([recording.init('270p', last.config)!, (await recording.read('270p', last.number))!]);
    const colorAt = (x: number): number[] => [...frame!.rgb.subarray((90 * 320 + x) * 3, (90 * 320 + x) * 3 + 3)];
    for (const [x, color] of [
      [40, [0, 0, 0]],
      [110, [0, 0, 255]],
      [200, [0, 0, 0]],
      [280, [0, 0, 0]],
    ] as const)
      for (const [index, value] of colorAt(x).entries()) expect(Math.abs(value - color[index]!)).toBeLessThan(12);
  });

  it('is the default one when the image is none', async () => {
    const opened = await open();
    send(opened, makePackets({ video }));
    const { slate, unusable } = await openSlate(opened, { image: Buffer.from('<html>') });
    await playFor(slate, opened.clock, 3000);
    expect(unusable).toEqual(['It is not a readable PNG, JPEG, WebP or GIF image of at most 4096x4096 pixels.']);
    const { recording } = opened;
    const last = recording.track('270p')!.segments.at(-1)!;
    const bytes = [recording.init('270p', last.config)!, (await recording.read('270p', last.number))!];
    const [mean] = meanOf(readRgbFrames(bytes)[0]!);
    expect(mean).toBeGreaterThan(10);
    expect(mean).toBeLessThan(40);
  });

  it('is silence for audio alone, and has no audio if the encoder sends none', async () => {
    const alone = await open({ latencyMode: 'reduced' });
    send(alone, makePackets({ audio: { ...audio, sampleRate: 44_100, channels: 1 } }));
    await playFor((await openSlate(alone)).slate, alone.clock, 5000);
    send(alone, makePackets({ audio: { ...audio, sampleRate: 44_100, channels: 1 } }));
    expect(alone.recording.trackNames).toEqual(['audio']);
    expectLegal(alone.recording.track('audio')!);
    await alone.recording.finish();
    const { channels, sampleRate } = readAudio(alone.path);
    expect(channels).toHaveLength(1);
    expect(channels[0]!.length / sampleRate).toBeCloseTo(2 * SECONDS + 5, 0);

    const mute = await open();
    send(mute, makePackets({ video }));
    await playFor((await openSlate(mute)).slate, mute.clock, 5000);
    expect(mute.recording.trackNames).toEqual(['270p']);
    expect(mute.recording.durationSeconds).toBeCloseTo(SECONDS + 5, 0);
  });

  it('is left out at the end of the recording, also after a restart', async () => {
    const opened = await open();
    const { recording, options, clock } = opened;
    send(opened, makePackets({ video, audio }));
    const { slate } = await openSlate(opened);
    await playFor(slate, clock, 5000);
    const before = recording.track('270p')!.segments.length;
    await recording.suspend();
    const again = await Recording.open(options);
    expect(again.track('270p')!.info).toEqual(recording.track('270p')!.info);
    const reopened = { ...opened, recording: again };
    await playFor((await openSlate(reopened)).slate, clock, 3000);
    const { segments } = again.track('270p')!;
    expectLegal(again.track('270p')!);
    expect(segments.length).toBeGreaterThan(before);
    expect(again.durationSeconds).toBeCloseTo(SECONDS + 8, 0);
    const finished = await again.finish();
    expect(finished!.durationSeconds).toBeCloseTo(SECONDS, 1);
    expect(countersOf(readRgbFrames(opened.path))).toEqual(upTo(FRAMES));
  });

  it('does not fill what is longer than the window', async () => {
    const opened = await open();
    const { recording, clock } = opened;
    send(opened, makePackets({ video, audio }));
    const { slate, began } = await openSlate(opened, { maxGapMs: 10_000 });
    await playFor(slate, clock, 3_600_000);
    expect(began).toEqual([clock.now()]);
    expect(recording.durationSeconds).toBeCloseTo(SECONDS, 0);
  });

  it('is made again for an encoder that comes back with another size', async () => {
    const opened = await open();
    const { recording, clock } = opened;
    send(opened, makePackets({ video, audio }));
    const { slate } = await openSlate(opened);
    await playFor(slate, clock, 2500);
    send(opened, makePackets({ video: { ...video, width: 640, height: 360 }, audio }));
    await playFor(slate, clock, 2500);
    const { segments } = recording.track('270p')!;
    const last = segments.at(-1)!;
    const [frame] = readRgbFrames([recording.init('270p', last.config)!, (await recording.read('270p', last.number))!]);
    expect([frame!.width, frame!.height]).toEqual([640, 360]);
    expectColor(frame!, [200, 30, 40]);
    await recording.finish();
    const planned = await planFile(opened.path, { quality: 'plus' });
    expect(planned.video.renditions.map(({ kind }) => kind)).not.toContain('copy');
  });
});

it('the profile of a slate is that of the content', async () => {
  const opened = await open();
  send(opened, makePackets({ video: { ...video, bFrames: 0, options: { ...video.options, profile: 'baseline' } } }));
  const maker = new SlateMaker({ pool, fetcher: undefined!, blobs: opened.blobs, temporaryDir: opened.dir });
  const signal = new AbortController().signal;
  const media = await maker.make('a', opened.recording.format, { usesImage: false, signal });
  expect(readAvcc(media!.video!.record)!.profile).toBe(66);
  expect(media!.video!.frames).toHaveLength(60);
});
