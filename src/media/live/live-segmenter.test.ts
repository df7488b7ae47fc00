import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AAC_FRAME_SAMPLES } from '../codecs/aac.js';
import { LIVE_TIMESCALE } from './frame-grid.js';
import {
  type CutPart,
  type EmptySegment,
  type LiveAudioFrame,
  type LiveFrame,
  LiveSegmenter,
  type SegmenterOptions,
  type TrackKind,
} from './live-segmenter.js';

const PART_SECONDS = 0.35;

interface Completed {
  readonly track: TrackKind;
  readonly segment: number;
  readonly empty: EmptySegment | undefined;
}

/** What a segmenter made of its frames. */
class Cuts {
  readonly parts: CutPart[] = [];
  readonly completed: Completed[] = [];
  forcedCuts = 0;
  readonly segmenter: LiveSegmenter;

  constructor(options: Partial<SegmenterOptions> = {}) {
    const usual = {
      leastSeconds: 1,
      partSeconds: PART_SECONDS,
      firstSegment: 0,
      continuedTracks: [],
      targetSeconds: 4,
    };
    this.segmenter = new LiveSegmenter(
      { ...usual, ...options },
      {
        part: (part) => {
          this.parts.push(part);
        },
        complete: (track, segment, empty) => {
          this.completed.push({ track, segment, empty });
        },
        forcedCut: () => {
          this.forcedCuts += 1;
        },
      },
    );
  }

  of(track: TrackKind): CutPart[] {
    return this.parts.filter((part) => part.track === track);
  }

  /** By segment, in order. */
  segmentsOf(track: TrackKind): CutPart[][] {
    const segments = new Map<number, CutPart[]>();
    for (const part of this.of(track)) segments.set(part.segment, [...(segments.get(part.segment) ?? []), part]);
    return [...segments.values()];
  }
}

/** Each frame's bytes are its number. */
const bytesOf = (frame: number): Uint8Array => Uint8Array.of(frame >> 8, frame & 0xff);
const numbersIn = (parts: readonly CutPart[]): number[] =>
  parts.flatMap(({ data }) => data.map(([high, low]) => high! * 256 + low!));
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const ticksOf = (parts: readonly CutPart[]): number => parts.reduce((sum, { durationTicks }) => sum + durationTicks, 0);

interface Shape {
  readonly fps: number;
  /** Frames of each GOP. */
  readonly gops: readonly number[];
  readonly audioRate: number;
  /** Seconds by which audio arrives before video with the same time. */
  readonly audioAhead: number;
  readonly audioStart: number;
}

const videoOf = ({ fps, gops }: Shape, startTicks = 0, firstFrame = 0): LiveFrame[] => {
  const usualTicks = LIVE_TIMESCALE / fps;
  return gops
    .flatMap((frames) => Array.from({ length: frames }, (_, at) => at === 0))
    .map((isKey, index) => ({
      decodeTicks: startTicks + Math.round(index * usualTicks),
      presentationTicks: startTicks + Math.round(index * usualTicks),
      compositionOffsetTicks: 0,
      isKey,
      isOpen: false,
      isJoined: index === 0,
      config: 0,
      data: bytesOf(firstFrame + index),
      usualTicks,
    }));
};

const audioOf = ({ audioRate, audioStart }: Shape, seconds: number): LiveAudioFrame[] => {
  const first = Math.ceil((audioStart * audioRate) / AAC_FRAME_SAMPLES);
  const count = Math.max(0, Math.floor((seconds * audioRate) / AAC_FRAME_SAMPLES) - first);
  return upTo(count).map((frame) => ({
    startTicks: (first + frame) * AAC_FRAME_SAMPLES,
    durationTicks: AAC_FRAME_SAMPLES,
    timescale: audioRate,
    isJoined: frame === 0,
    config: 0,
    data: bytesOf(frame),
  }));
};

/**
 * Feeds both tracks in the order in which they arrive. Audio waits for the first key frame.
 */
const feed = (
  { segmenter }: Cuts,
  video: readonly LiveFrame[],
  audio: readonly LiveAudioFrame[],
  ahead: number,
): void => {
  const arrivals = [
    ...video.map((frame, index) => ({
      seconds: index === 0 ? Number.NEGATIVE_INFINITY : frame.decodeTicks / LIVE_TIMESCALE,
      add: () => segmenter.video(frame),
    })),
    ...audio.map((frame) => ({
      seconds: frame.startTicks / frame.timescale - ahead,
      add: () => segmenter.audio(frame),
    })),
  ];
  for (const { add } of arrivals.toSorted((a, b) => a.seconds - b.seconds)) add();
  segmenter.endSession();
};

const shapes: fc.Arbitrary<Shape> = fc
  .constantFrom(12, 15, 20, 24_000 / 1001, 24, 25, 30_000 / 1001, 30, 50, 60)
  .chain((fps) =>
    fc.record({
      fps: fc.constant(fps),
      gops: fc.array(fc.integer({ min: 1, max: Math.round(7 * fps) }), { minLength: 1, maxLength: 6 }),
      audioRate: fc.constantFrom(48_000, 44_100, 32_000),
      audioAhead: fc.double({ min: -0.6, max: 0.6, noNaN: true }),
      audioStart: fc.constantFrom(0, 0, 0.5, 3),
    }),
  );
const options = fc.record({
  leastSeconds: fc.constantFrom(1, 2, 4),
  targetSeconds: fc.constantFrom(4, 6, 10),
  firstSegment: fc.constantFrom(0, 17),
});

const run = (shape: Shape, settings: Partial<SegmenterOptions>) => {
  const cuts = new Cuts(settings);
  const video = videoOf(shape);
  const audio = audioOf(shape, video.length / shape.fps);
  feed(cuts, video, audio, shape.audioAhead);
  return { cuts, video, audio };
};

describe('any video with audio', () => {
  test('is in the parts once and in order, with its times', () => {
    fc.assert(
      fc.property(shapes, options, (shape, settings) => {
        const { cuts, video, audio } = run(shape, settings);
        expect(numbersIn(cuts.of('video'))).toEqual(upTo(video.length));
        expect(numbersIn(cuts.of('audio'))).toEqual(upTo(audio.length));
        for (const parts of [cuts.of('video'), cuts.of('audio')])
          for (const [index, { startTicks, durationTicks, samples }] of parts.entries()) {
            expect(samples.reduce((sum, sample) => sum + sample.durationTicks, 0)).toBe(durationTicks);
            if (parts[index + 1]) expect(parts[index + 1]!.startTicks).toBe(startTicks + durationTicks);
          }
      }),
      { numRuns: 60 },
    );
  });

  test('has parts of 85 to 100 % of their target, but for the last one of a segment', () => {
    fc.assert(
      fc.property(shapes, options, (shape, settings) => {
        const { cuts } = run(shape, settings);
        const scales = { video: LIVE_TIMESCALE, audio: shape.audioRate };
        for (const track of ['video', 'audio'] as const)
          for (const parts of cuts.segmentsOf(track)) {
            expect(parts.map(({ part }) => part)).toEqual(upTo(parts.length));
            const seconds = parts.map(({ durationTicks }) => durationTicks / scales[track]);
            for (const part of seconds) expect(part).toBeLessThanOrEqual(PART_SECONDS + 1e-5);
            for (const part of seconds.slice(0, -1)) expect(part).toBeGreaterThanOrEqual(0.85 * PART_SECONDS);
          }
      }),
      { numRuns: 60 },
    );
  });

  test('is cut at the first key frame after the least length, or else within the target duration', () => {
    fc.assert(
      fc.property(shapes, options, (shape, settings) => {
        const { leastSeconds, targetSeconds, firstSegment } = settings;
        const { cuts } = run(shape, settings);
        const segments = cuts.segmentsOf('video');
        expect(segments.map(([part]) => part!.segment)).toEqual(upTo(segments.length).map((at) => at + firstSegment));
        const forced = segments.filter(([part]) => !part!.independent);
        expect(cuts.forcedCuts).toBe(forced.length);
        for (const parts of segments) {
          expect(Math.round(ticksOf(parts) / LIVE_TIMESCALE)).toBeLessThanOrEqual(targetSeconds);
          let seconds = 0;
          for (const [at, { sync, durationTicks }] of parts.flatMap(({ samples }) => samples).entries()) {
            if (at > 0 && sync) expect(seconds).toBeLessThan(leastSeconds);
            seconds += durationTicks / LIVE_TIMESCALE;
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  test('has segments with the same numbers and nearly the same times in both tracks', () => {
    fc.assert(
      fc.property(shapes, options, (shape, settings) => {
        const { cuts } = run(shape, settings);
        const starts = new Map(cuts.segmentsOf('video').map(([part]) => [part!.segment, part!.startTicks]));
        const audio = cuts.segmentsOf('audio');
        for (const [part] of audio.slice(1)) {
          const seconds = starts.get(part!.segment)! / LIVE_TIMESCALE;
          const isNear = Math.abs(part!.startTicks / shape.audioRate - seconds) * shape.audioRate;
          // Audio that is more than a second ahead does not wait for the cut.
          expect(isNear).toBeLessThanOrEqual(AAC_FRAME_SAMPLES);
        }
        for (const track of ['video', 'audio'] as const) {
          const numbers = cuts.completed.filter((each) => each.track === track).map(({ segment }) => segment);
          const first = cuts.of(track)[0]?.segment;
          const last = cuts.of('video').at(-1)!.segment;
          expect(numbers).toEqual(first === undefined ? [] : upTo(last - first + 1).map((at) => at + first));
          for (const { segment, empty } of cuts.completed.filter((each) => each.track === track))
            expect(empty === undefined).toBe(cuts.of(track).some((part) => part.segment === segment));
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe('a segment', () => {
  const shape: Shape = { fps: 30, gops: [60, 60], audioRate: 48_000, audioAhead: 0, audioStart: 0 };

  test('of another session or another configuration is behind a discontinuity', () => {
    const cuts = new Cuts({ continuedTracks: ['video'] });
    feed(cuts, videoOf(shape), [], 0);
    const other = videoOf(shape, 4 * LIVE_TIMESCALE, 120).map((frame) => ({ ...frame, config: 1 }));
    feed(cuts, other, [], 0);
    const segments = cuts.segmentsOf('video').map(([part]) => [part!.segment, part!.discontinuity, part!.config]);
    expect(segments).toEqual([
      [0, true, 0],
      [1, false, 0],
      [2, true, 1],
      [3, false, 1],
    ]);
    expect(numbersIn(cuts.of('video'))).toEqual(upTo(240));
  });

  test('without a key frame ends where no later frame is shown before its end', () => {
    const cuts = new Cuts();
    // Decoded 0, 3, 1, 2, 6, 4, 5 …
    const frames = videoOf({ ...shape, gops: [300] }).map((frame, index) => {
      const shift = index === 0 ? 0 : index % 3 === 1 ? 2 : -1;
      return { ...frame, presentationTicks: frame.decodeTicks + shift * 3000, compositionOffsetTicks: shift * 3000 };
    });
    feed(cuts, frames, [], 0);
    const starts = cuts.segmentsOf('video').map(([part]) => part!.startTicks / 3000);
    expect(starts).toHaveLength(3);
    for (const start of starts.slice(1)) expect(start % 3).toBe(1);
  });

  test('that starts with an open key frame is not independent', () => {
    const cuts = new Cuts();
    const frames = videoOf({ ...shape, gops: [60, 60, 60] });
    feed(
      cuts,
      frames.map((frame, index) => ({ ...frame, isOpen: index === 60 })),
      [],
      0,
    );
    const starts = cuts.segmentsOf('video').map(([part]) => [part!.independent, part!.open]);
    expect(starts).toEqual([
      [true, false],
      [false, true],
      [true, false],
    ]);
  });

  test('without frames of a track is told as empty', () => {
    const cuts = new Cuts();
    const video = videoOf({ ...shape, gops: [60, 60, 60] });
    // Audio stops in the second of three segments.
    feed(cuts, video, audioOf(shape, 2.5), 0);
    const audio = cuts.completed.filter(({ track }) => track === 'audio');
    expect(audio.map(({ empty }) => empty?.durationSeconds)).toEqual([undefined, undefined, expect.closeTo(2, 3)]);
  });

  test('of audio ends within the target duration when video has stopped', () => {
    const cuts = new Cuts();
    const audio = audioOf(shape, 13);
    feed(cuts, videoOf(shape), audio, 0);
    expect(numbersIn(cuts.of('video'))).toEqual(upTo(120));
    expect(numbersIn(cuts.of('audio'))).toEqual(upTo(audio.length));
    for (const parts of cuts.segmentsOf('audio')) expect(Math.round(ticksOf(parts) / 48_000)).toBeLessThanOrEqual(4);
    const numbers = cuts.segmentsOf('audio').map(([part]) => part!.segment);
    expect(numbers).toEqual([0, 1, 2, 3]);
    const video = cuts.completed.filter(({ track }) => track === 'video');
    expect(video.map(({ segment, empty }) => [segment, empty !== undefined])).toEqual([
      [0, false],
      [1, false],
      [2, true],
      [3, true],
    ]);
    expect(cuts.forcedCuts).toBe(0);
  });

  test('of audio that was alone ends when video begins', () => {
    const cuts = new Cuts();
    const audio = audioOf(shape, 6);
    const isBefore = ({ startTicks }: LiveAudioFrame): boolean => startTicks < 2.5 * 48_000;
    for (const frame of audio.filter(isBefore)) cuts.segmenter.audio(frame);
    const rest = audio.filter((frame) => !isBefore(frame));
    feed(cuts, videoOf({ ...shape, gops: [60, 45] }, 2.5 * LIVE_TIMESCALE), rest, 0);
    expect(numbersIn(cuts.of('audio'))).toEqual(upTo(audio.length));
    expect(numbersIn(cuts.of('video'))).toEqual(upTo(105));
    expect(cuts.segmentsOf('video').map(([part]) => [part!.segment, part!.startTicks / LIVE_TIMESCALE])).toEqual([
      [3, 2.5],
      [4, 4.5],
    ]);
    expect(cuts.segmentsOf('audio').map(([part]) => part!.segment)).toEqual([0, 1, 2, 3, 4]);
  });

  test('of audio alone is cut by its length', () => {
    const cuts = new Cuts({ leastSeconds: 2 });
    feed(cuts, [], audioOf(shape, 7), 0);
    const seconds = cuts.segmentsOf('audio').map((parts) => ticksOf(parts) / 48_000);
    expect(seconds).toHaveLength(4);
    for (const length of seconds.slice(0, -1)) expect(length).toBeCloseTo(2, 1);
    expect(numbersIn(cuts.of('audio'))).toEqual(upTo(Math.floor((7 * 48_000) / 1024)));
  });
});
