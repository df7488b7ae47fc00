import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AAC_FRAME_SAMPLES } from '../codecs/aac.js';
import { LIVE_TIMESCALE, TICKS_PER_MS } from './frame-grid.js';
import { LiveTimeline } from './live-timeline.js';

const TICKS = LIVE_TIMESCALE / 30;

type Packet =
  | { readonly kind: 'video'; readonly ms: number; readonly compositionMs: number }
  | { readonly kind: 'audio'; readonly ms: number };

const msOf = (frame: number): number => Math.round((frame * 1000) / 30);

/**
 * Closed GOPs with 30 frames a second and `bFrames` between two others, in decoding order, and
 * audio, which starts with the first key frame.
 */
const packetsOf = (startMs: number, groups: number, bFrames: number, rate: number): Packet[] => {
  const size = bFrames + 1;
  const delay = bFrames > 0 ? 1 : 0;
  const count = 1 + groups * size;
  const packets: Packet[] = [];
  for (let frame = 0; frame < count; frame += 1) {
    const [group, at] = [Math.floor((frame - 1) / size), (frame - 1) % size];
    const shown = frame === 0 ? 0 : group * size + (at === 0 ? size : at);
    const compositionMs = msOf(shown + delay) - msOf(frame);
    packets.push({ kind: 'video', ms: startMs + msOf(frame), compositionMs });
  }
  const endMs = startMs + msOf(count + delay);
  for (let frame = 0; ; frame += 1) {
    const ms = startMs + msOf(delay) + Math.round((frame * AAC_FRAME_SAMPLES * 1000) / rate);
    if (ms >= endMs) break;
    packets.push({ kind: 'audio', ms });
  }
  return packets.toSorted((a, b) => a.ms - b.ms);
};

const sessions = fc.array(
  fc.record({
    startMs: fc.integer({ min: 0, max: 2 ** 40 }),
    groups: fc.integer({ min: 1, max: 20 }),
    bFrames: fc.integer({ min: 0, max: 3 }),
    /** The clock jumps within a connection. */
    isSameConnection: fc.boolean(),
  }),
  { minLength: 1, maxLength: 4 },
);
/** The clock begins again after two frames. */
const reset = { startMs: 0, groups: 1, bFrames: 0, isSameConnection: false };
const audioRates = fc.constantFrom(48_000, 44_100, 32_000, 22_050);

describe('times of sessions', () => {
  test('never go back, keep audio and video together, and lose nothing', () => {
    fc.assert(
      fc.property(sessions, audioRates, (list, rate) => {
        const timeline = new LiveTimeline();
        timeline.setAudioRate(rate);
        const shown = new Set<number>();
        let [lastDecode, audioEnd, lastMs] = [-1, 0, Number.POSITIVE_INFINITY];
        for (const { startMs, groups, bFrames, isSameConnection } of list) {
          // A short step back is no jump; it has a test of its own.
          const isJump = Math.abs(startMs - lastMs) > 200;
          if (!isSameConnection || !isJump) timeline.beginSession();
          timeline.setFrameRate({ num: 30, den: 1 });
          let origin: number | undefined;
          for (const packet of packetsOf(startMs, groups, bFrames, rate)) {
            lastMs = packet.ms;
            if (packet.kind === 'video') {
              const timed = timeline.video(packet.ms, packet.compositionMs)!;
              origin ??= timed.presentationTicks - (packet.ms + packet.compositionMs - startMs) * TICKS_PER_MS;
              expect(timed.decodeTicks).toBeGreaterThan(lastDecode);
              expect(shown.has(timed.presentationTicks)).toBe(false);
              shown.add(timed.presentationTicks);
              lastDecode = timed.decodeTicks;
              const ticks = origin + (packet.ms + packet.compositionMs - startMs) * TICKS_PER_MS;
              expect(Math.abs(timed.presentationTicks - ticks)).toBeLessThanOrEqual(2 * TICKS_PER_MS);
              continue;
            }
            const timed = timeline.audio(packet.ms)!;
            expect(timed.startTicks).toBeGreaterThanOrEqual(audioEnd - 1e-6);
            audioEnd = timed.startTicks + timed.durationTicks;
            const ticks = (timed.startTicks * LIVE_TIMESCALE) / rate;
            if (origin !== undefined)
              expect(Math.abs(ticks - origin - (packet.ms - startMs) * TICKS_PER_MS)).toBeLessThan(50 * TICKS_PER_MS);
          }
        }
        expect(lastDecode).toBeLessThan(timeline.endTicks);
      }),
      { numRuns: 60, examples: [[[reset, { ...reset, isSameConnection: true }], 48_000]] },
    );
  });

  test('continue at the end of a recording', () => {
    const timeline = new LiveTimeline({ videoTicks: 900_000, audioTicks: 480_100, audioTimescale: 48_000 });
    timeline.setAudioRate(48_000);
    const first = timeline.video(123_456, 0)!;
    expect(first).toMatchObject({ isJoined: true });
    // The audio ends 2.08 ms later than the video.
    expect(first.presentationTicks).toBe(Math.ceil((480_100 * LIVE_TIMESCALE) / 48_000));
    expect(timeline.audio(123_456)!.startTicks).toBeGreaterThanOrEqual(480_100);
  });
});

describe('the clock of an encoder', () => {
  const run = (times: readonly number[]): (number | undefined)[] => {
    const timeline = new LiveTimeline();
    timeline.setFrameRate({ num: 30, den: 1 });
    return times.map((ms) => {
      const timed = timeline.video(ms, 0);
      // Frames that are not reordered are shown when they are decoded.
      expect(timed?.presentationTicks).toBe(timed?.decodeTicks);
      return timed?.decodeTicks;
    });
  };

  test('may stand still or go back a little: times are moved up', () => {
    const [first, second, third, fourth] = run([0, 33, 33, 20]) as number[];
    expect([first, second]).toEqual([0, TICKS]);
    expect(third).toBeGreaterThan(second!);
    expect(fourth).toBeGreaterThan(third!);
  });

  test('may leave frames out', () => {
    expect(run([0, 33, 1033, 1067])).toEqual([0, TICKS, 31 * TICKS, 32 * TICKS]);
  });

  test.each([
    ['back', -60_000],
    ['forward', 60_000],
  ])('may jump %s: the frames are joined', (_name, jumpMs) => {
    const timeline = new LiveTimeline();
    timeline.setFrameRate({ num: 30, den: 1 });
    timeline.setAudioRate(48_000);
    for (let frame = 0; frame < 30; frame += 1) timeline.video(msOf(frame), 0);
    for (let frame = 0; frame < 46; frame += 1) timeline.audio(Math.round((frame * 1024) / 48));
    const end = timeline.endTicks;
    // Both tracks jump, one after the other.
    const video = timeline.video(1000 + jumpMs, 0)!;
    expect(video).toMatchObject({ decodeTicks: end, isJoined: true });
    const audio = timeline.audio(1000 + jumpMs)!;
    expect(audio.isJoined).toBe(true);
    expect((audio.startTicks * LIVE_TIMESCALE) / 48_000).toBeCloseTo(end, -1);
    expect(timeline.video(1033 + jumpMs, 0)!.isJoined).toBe(false);
  });

  test('drifts: audio follows it, and never overlaps', () => {
    const timeline = new LiveTimeline();
    timeline.setAudioRate(48_000);
    let end = 0;
    for (let frame = 0; frame < 5000; frame += 1) {
      // A sound card that is 0.1 % slow.
      const ms = (frame * 1024 * 1.001) / 48;
      const timed = timeline.audio(Math.round(ms))!;
      expect(timed.startTicks).toBeGreaterThanOrEqual(end);
      expect(Math.abs(timed.startTicks / 48 - ms)).toBeLessThan(45);
      end = timed.startTicks + timed.durationTicks;
    }
  });
});
