import { mkdtemp, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { systemClock } from '#kinora/lib/clock.js';
import type { IngestPacket } from '#kinora/live/ingest.js';
import { Recording, type RecordingEvents, type RecordingOptions } from '#kinora/live/recording/recording.js';
import { replicaStoreOf } from '#kinora/live/recording/replica.js';
import type { LiveTrackState } from '#kinora/media/live/live-track.js';
import { scanRecording } from '#kinora/media/live/scan-recording.js';
import { DiskBlobStore } from '#kinora/storage/disk/disk-blob-store.js';
import { quietLogger } from '../../support/logger.js';
import { writeMedia } from '../../support/media/fixture-media.js';
import type { AudioRecipe, MediaRecipe, VideoRecipe } from '../../support/media/fixture-recipe.js';
import { isFrame, readFlvPackets, shiftPackets } from '../../support/media/flv-packets.js';
import { readAudio, readFrameCounters, readPackets } from '../../support/media/measure.js';
import { planFile } from '../../support/media/video-run.js';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'kinora-recording-'));
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

let files = 0;
const makePackets = (recipe: Omit<MediaRecipe, 'muxer'>): IngestPacket[] => {
  files += 1;
  const path = join(root, `${files}.flv`);
  writeMedia({ muxer: 'flv', ...recipe }, path);
  return readFlvPackets(path);
};

const noEvents = (): RecordingEvents => ({
  playable: vi.fn(),
  forcedCut: vi.fn(),
  problem: vi.fn(),
  failed: vi.fn(),
});

const KEY = 'assets/a/source';

const open = async (options: Partial<RecordingOptions> = {}) => {
  const dir = await mkdtemp(join(root, 'blobs-'));
  const events = noEvents();
  const blobs = new DiskBlobStore(dir);
  const all: RecordingOptions = {
    blobs,
    key: KEY,
    assetId: 'a',
    latencyMode: 'low',
    firstSequence: 0,
    firstDiscontinuity: 0,
    clock: systemClock,
    logger: quietLogger,
    events,
    ...options,
  };
  return { recording: await Recording.open(all), events, dir, options: all, path: join(dir, KEY) };
};

const writeAll = (recording: Recording, packets: readonly IngestPacket[]): void => {
  recording.beginSession(Date.now(), 'content');
  for (const packet of packets) recording.write(packet);
  recording.endSession();
};

/** What players need of a track: segments that follow each other and parts that fill them. */
const expectLegal = ({ segments, info }: LiveTrackState, targetSeconds: number): void => {
  for (const [index, segment] of segments.entries()) {
    expect(segment.number).toBe(segments[0]!.number + index);
    expect(Math.round(segment.durationTicks / info.timescale)).toBeLessThanOrEqual(targetSeconds);
    const ticks = segment.parts.reduce((sum, { durationTicks }) => sum + durationTicks, 0);
    expect(ticks).toBe(segment.gap ? 0 : segment.durationTicks);
    for (const part of segment.parts) expect(part.durationTicks / info.timescale).toBeLessThanOrEqual(0.3501);
    const next = segments[index + 1];
    if (next && !next.discontinuity) expect(next.startTicks).toBe(segment.startTicks + segment.durationTicks);
  }
};

/** The track as a player reads it: its init segment and every segment. */
const readTrack = async (recording: Recording, name: string): Promise<Uint8Array[]> => {
  const { segments } = recording.track(name)!;
  const bytes = await Promise.all(segments.map(({ number }) => recording.read(name, number)));
  return [recording.init(name, segments[0]!.config)!, ...bytes.map((segment) => segment!)];
};

const counters = (input: Parameters<typeof readFrameCounters>[0]): number[] =>
  readFrameCounters(input).map(({ counter }) => counter);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

describe('a recording', () => {
  it.each<[string, VideoRecipe, AudioRecipe]>([
    ['B-frames, GOP 2 s, 30 fps', video, audio],
    [
      'no B-frames, GOP 1 s, 25 fps, 44.1 kHz',
      { ...video, bFrames: 0, gop: 25, rate: [25, 1] },
      { ...audio, sampleRate: 44_100 },
    ],
    ['23.976 fps, mono', { ...video, rate: [24_000, 1001], gop: 48 }, { ...audio, channels: 1 }],
    ['29.97 fps', { ...video, rate: [30_000, 1001] }, audio],
    ['60 fps', { ...video, rate: [60, 1], gop: 120 }, audio],
  ])('has every frame at its time: %s', async (_name, recipe, sent) => {
    const seconds = 6;
    const { recording, events, path } = await open();
    writeAll(recording, makePackets({ seconds, video: recipe, audio: sent }));
    const frames = Math.round((seconds * recipe.rate[0]) / recipe.rate[1]);
    expect(events.playable).toHaveBeenCalledTimes(1);
    for (const name of recording.trackNames) expectLegal(recording.track(name)!, recording.times.targetSeconds);
    expect(counters(await readTrack(recording, recording.trackNames[0]!))).toEqual(upTo(frames));

    const finished = await recording.finish();
    expect(finished!.sizeBytes).toBe((await stat(path)).size);
    const found = readFrameCounters(path);
    expect(found.map(({ counter }) => counter)).toEqual(upTo(frames));
    for (const { counter, ptsSeconds } of found)
      expect(ptsSeconds).toBeCloseTo((counter * recipe.rate[1]) / recipe.rate[0], 4);
    const measured = readAudio(path);
    expect(measured.sampleRate).toBe(sent.sampleRate);
    expect(events.failed).not.toHaveBeenCalled();
    expect(events.problem).not.toHaveBeenCalled();

    const planned = await planFile(path, { quality: 'plus' });
    expect(planned.index.discontinuous).toBe(false);
    expect(planned.video.renditions.map(({ kind }) => kind)).toContain('copy');
    expect(planned.video.frameRate.num / planned.video.frameRate.den).toBeCloseTo(recipe.rate[0] / recipe.rate[1], 3);
  });
});

describe('a recording of a broadcast that is interrupted', () => {
  const recipe = { seconds: 4, video, audio };

  it('joins what encoders send after a gap, and after their clock has jumped back', async () => {
    const { recording, events, path } = await open();
    writeAll(recording, makePackets(recipe));
    writeAll(recording, makePackets({ ...recipe, firstCounter: 120, offsetSeconds: 500 }));
    const back = makePackets({ ...recipe, firstCounter: 240 });
    const again = makePackets({ ...recipe, firstCounter: 360 });
    // In one connection.
    writeAll(recording, [...shiftPackets(back, 90_000), ...again.filter(isFrame)]);
    const states = recording.trackNames.map((name) => recording.track(name)!);
    for (const state of states) expectLegal(state, recording.times.targetSeconds);
    const breaks = states.map(({ segments }) =>
      segments.filter(({ discontinuity }) => discontinuity).map(({ number }) => number),
    );
    expect(breaks[0]).toHaveLength(3);
    expect(breaks[1]).toEqual(breaks[0]);
    await recording.finish();
    const frames = readFrameCounters(path);
    expect(frames.map(({ counter }) => counter)).toEqual(upTo(480));
    // Video may wait for the last audio frame of a session.
    for (const { counter, ptsSeconds } of frames) expect(Math.abs(ptsSeconds - counter / 30)).toBeLessThan(0.1);
    expect(events.failed).not.toHaveBeenCalled();
    await planFile(path, { quality: 'plus' });
  });

  it('continues a file that was cut anywhere, with at most the last part missing', async () => {
    const first = makePackets(recipe);
    const second = makePackets({ ...recipe, firstCounter: 120 });
    const { recording, dir, options, path } = await open({ firstSequence: 7, firstDiscontinuity: 2 });
    writeAll(recording, first);
    const before = recording.track('270p')!.segments;
    await recording.suspend();
    const partial = join(dir, '.partial', KEY.replaceAll('/', '~'));
    const whole = await readFile(partial);
    const cuts = [5, 41, 300, 1000, 0.3 * whole.length, 0.7 * whole.length, whole.length - 1].map(Math.floor);
    // After what was written, the file may have zeros or what the disk had there before.
    const tails = [0, 1, 7, 100, 70_000].flatMap((bytes) => [Buffer.alloc(bytes), Buffer.alloc(bytes, 0xa5)]);
    for (const [at, cut] of [...cuts, ...cuts, ...cuts].entries()) {
      await writeFile(partial, Buffer.concat([whole.subarray(0, cut), tails[at % tails.length]!]));
      const again = await Recording.open({ ...options, firstSequence: 7, firstDiscontinuity: 2 });
      const segments = again.track('270p')?.segments ?? [];
      for (const [index, { number, parts }] of segments.entries()) {
        expect(number).toBe(7 + index);
        const wanted = before[index]!.parts;
        expect(parts).toEqual(index === segments.length - 1 ? wanted.slice(0, parts.length) : wanted);
      }
      writeAll(again, second);
      for (const name of again.trackNames) expectLegal(again.track(name)!, again.times.targetSeconds);
      await again.finish();
      const found = counters(path);
      const survived = found.length - 120;
      expect(found).toEqual([...upTo(survived), ...upTo(120).map((counter) => counter + 120)]);
      await rm(path);
    }
  });
});

describe('a recording whose process ended between two records', () => {
  it('is read back from its replica when a restart has left only the beginning of that', async () => {
    const sizes = new Map<string, number>();
    const disk = new DiskBlobStore(await mkdtemp(join(root, 'bucket-')));
    const bucket = {
      put: async (key: string, bytes: Uint8Array) => {
        sizes.set(key, bytes.length);
        await disk.put(key, bytes);
      },
      read: (key: string, range?: { start: number; end?: number }) => disk.read(key, range),
      abortUploads: async () => undefined,
      list: async function* () {
        for (const [key, sizeBytes] of sizes) yield { key, sizeBytes };
      },
    };
    const store = replicaStoreOf(Object.assign(Object.create(disk), bucket))!;
    const { recording, options, dir } = await open({ replica: { store, term: 1, restores: false } });
    writeAll(recording, makePackets({ seconds: 4, video, audio }));
    expect(await recording.suspend(60_000)).toBe(true);
    const partial = join(dir, '.partial', KEY.replaceAll('/', '~'));
    await truncate(partial, Math.floor((await stat(partial)).size / 2));
    const again = await Recording.open({ ...options, replica: { store, term: 2, restores: false } });
    expect(again.isTakenOver).toBe(true);
    expect(counters(await readTrack(again, again.trackNames[0]!))).toEqual(upTo(120));
    await again.discard();
  });

  it('has no hole in the segments of a track', async () => {
    const { recording, dir, options } = await open({ firstSequence: 7 });
    writeAll(recording, makePackets({ seconds: 2, video: { ...video, gop: 30 }, audio }));
    await recording.suspend();
    const partial = join(dir, '.partial', KEY.replaceAll('/', '~'));
    const whole = await readFile(partial);
    const ends: number[] = [];
    await scanRecording(async (offset, length) => whole.subarray(offset, offset + length), whole.length, {
      fact: () => undefined,
      part: (_part, offset, sizeBytes) => void ends.push(offset + sizeBytes),
    });
    const second = makePackets({ seconds: 1, video, audio, firstCounter: 60 });
    let gaps = 0;
    for (const end of ends) {
      await writeFile(partial, whole.subarray(0, end));
      const again = await Recording.open(options);
      writeAll(again, second);
      await again.suspend();
      // What was missing is in the file.
      const third = await Recording.open(options);
      for (const name of third.trackNames) {
        const state = third.track(name)!;
        expectLegal(state, third.times.targetSeconds);
        gaps += state.segments.filter(({ gap }) => gap).length;
        for (const { number, gap, parts } of state.segments)
          if (!gap) expect(await third.read(name, number, parts.length - 1), `${name} ${number}`).toBeDefined();
      }
      await third.suspend();
    }
    expect(gaps).toBeGreaterThan(0);
  });
});

describe('a recording of unusual streams', () => {
  it('has audio alone', async () => {
    const { recording, path, events } = await open({ latencyMode: 'reduced' });
    writeAll(recording, makePackets({ seconds: 9, audio }));
    expect(recording.trackNames).toEqual(['audio']);
    expectLegal(recording.track('audio')!, recording.times.targetSeconds);
    expect(events.playable).toHaveBeenCalledTimes(1);
    await recording.finish();
    expect(readAudio(path).channels[0]!.length).toBeGreaterThan(8.9 * 48_000);
  });

  it('has video alone', async () => {
    const { recording, path } = await open();
    writeAll(recording, makePackets({ seconds: 4, video }));
    expect(recording.trackNames).toEqual(['270p']);
    await recording.finish();
    expect(counters(path)).toEqual(upTo(120));
  });

  it('has audio that starts late at its time', async () => {
    const { recording, path } = await open();
    writeAll(recording, makePackets({ seconds: 6, video, audio: { ...audio, startSeconds: 3 } }));
    expect(recording.track('audio')!.segments[0]!.number).toBe(1);
    await recording.finish();
    expect(counters(path)).toEqual(upTo(180));
    expect(readAudio(path).startSeconds).toBeCloseTo(3, 1);
  });

  it('cuts a long GOP at the target duration, and says so once', async () => {
    const { recording, path, events } = await open();
    writeAll(recording, makePackets({ seconds: 12, video: { ...video, gop: 300 }, audio }));
    const { segments } = recording.track('270p')!;
    expectLegal(recording.track('270p')!, 4);
    expect(segments.map(({ independent }) => independent)).toEqual([true, false, false, true]);
    expect(events.forcedCut).toHaveBeenCalledTimes(1);
    await recording.finish();
    expect(counters(path)).toEqual(upTo(360));
  });

  it('begins another configuration when the size changes', async () => {
    const { recording, path } = await open();
    const small = makePackets({ seconds: 4, video, audio });
    const large = makePackets({ seconds: 4, video: { ...video, width: 640, height: 360 }, audio, firstCounter: 120 });
    writeAll(recording, [...small, ...shiftPackets(large, 4000)]);
    const { segments } = recording.track('270p')!;
    expect(segments.map(({ config }) => config)).toEqual([0, 0, 1, 1]);
    expect(segments.map(({ discontinuity }) => discontinuity)).toEqual([false, false, true, false]);
    await recording.finish();
    expect(readPackets(path).filter(({ streamIndex }) => streamIndex === 0)).toHaveLength(240);
    await planFile(path, { quality: 'plus' });
  });
});
