import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { encodeLive } from '#kinora/engine/live/encode-live.js';
import { encodeVideoConfig } from '#kinora/engine/video/video-config.js';
import { writeVideoInit } from '#kinora/media/mp4/cmaf.js';
import { verifyFragment } from '#kinora/media/mp4/fragment-verifier.js';
import { readFragment, readVideoInit } from '#kinora/media/mp4/read-cmaf.js';
import { sourceFilters } from '#kinora/media/plan/video-filters.js';
import type { LastInput, LiveOutput, LivePartInput, LiveRung } from '#kinora/pool/protocol.js';
import { type FakeFeedOptions, FakeLiveFeed } from '../support/media/fake-live-feed.js';
import { type EncodedName, fixture } from '../support/media/fixtures.js';
import { readFrameCounters, readPackets } from '../support/media/measure.js';
import { probeFile, withFolder } from '../support/media/video-run.js';

const encoder = { preset: 'veryfast', crf: 23, maxRate: 400_000, level: 30, bFrames: 0 };
const rungs: LiveRung[] = [
  { name: '270p', width: 480, height: 270, frameStep: 1, encoder },
  { name: 'small', width: 240, height: 136, frameStep: 1, encoder },
];
const FRAME_RATE = { num: 30, den: 1 };

interface MadePart {
  readonly segment: number;
  readonly part: number;
  readonly startTicks: number;
  readonly endTicks: number;
  readonly startsWithKey: boolean;
  readonly bytes: Buffer;
}

/** Feeds a whole broadcast; `outputs` says which rungs a part is encoded for. */
const encode = async (
  name: EncodedName,
  outputs: (segment: number, part: number) => readonly string[],
  options: FakeFeedOptions & { restartAt?: number } = {},
) =>
  withFolder(async (folder) => {
    const feed = await FakeLiveFeed.open(name, options);
    feed.grow(feed.partCount);
    const [track] = feed.trackNames as [string];
    const init = readVideoInit(feed.init(track, 0)!);
    const facts = await probeFile(await fixture(name));
    const inputs: (LivePartInput | LastInput)[] = [];
    for (const segment of feed.track(track)!.segments) {
      let startTicks = segment.startTicks;
      for (const [part, { durationTicks }] of segment.parts.entries()) {
        const { samples, data } = readFragment((await feed.read(track, segment.number, part))!, init.reorderTicks);
        const path = join(folder, `${segment.number}-${part}`);
        writeFileSync(path, data);
        inputs.push({
          segment: segment.number,
          part,
          startTicks,
          endTicks: startTicks + durationTicks,
          restarts: options.restartAt === segment.number && part === 0,
          path,
          samples,
          outputs: outputs(segment.number, part).map((rung) => ({ rung, outPath: `${path}-${rung}` })),
        });
        startTicks += durationTicks;
      }
    }
    const made: Record<string, MadePart[]> = { '270p': [], small: [] };
    const fed = new Map(inputs.map((input) => ['end' in input ? '' : `${input.segment}-${input.part}`, input]));
    const output = (each: LiveOutput): void => {
      if (each.type !== 'part') return;
      const input = fed.get(`${each.segment}-${each.part}`)!;
      if ('end' in input) throw new Error('not a part');
      const bytes = readFileSync(join(folder, `${each.segment}-${each.part}-${each.rung}`));
      verifyFragment(bytes, {
        baseDecodeTicks: input.startTicks,
        durationTicks: input.endTicks - input.startTicks,
        sampleCount: each.samples,
        firstSync: each.part === 0,
      });
      made[each.rung]!.push({ ...input, startsWithKey: each.startsWithKey, bytes });
    };
    const job = {
      kind: 'live-encode' as const,
      codec: init.codec,
      config: Buffer.from(init.record).toString('base64'),
      timescale: init.timescale,
      frameRate: FRAME_RATE,
      filters: sourceFilters(facts.video!),
      rungs,
      threads: 2,
    };
    const context = {
      progress: () => undefined,
      output,
      inputs: (async function* () {
        yield* inputs;
        yield { end: true } as const;
      })(),
    };
    const result = await encodeLive(job, context);
    return { made, inputs, result, feed };
  });

const initOf = ({ width, height }: LiveRung): Uint8Array =>
  writeVideoInit({
    timescale: 90_000,
    width,
    height,
    color: 'bt709',
    avcc: Buffer.from(
      encodeVideoConfig({ kind: 'video-config', width, height, frameRate: FRAME_RATE, encoder }).avcc,
      'base64',
    ),
  });

const counters = (rung: LiveRung, parts: readonly MadePart[]): number[] =>
  readFrameCounters([initOf(rung), ...parts.map(({ bytes }) => bytes)]).map(({ counter }) => counter);
const numbers = (from: number, count: number): number[] => Array.from({ length: count }, (_, index) => from + index);

describe('rungs of a live stream', () => {
  test.each<EncodedName>(['live-480p.mp4', 'hevc-480p.mp4', 'av1-480p.mp4', 'video-only.mp4', 'intra-refresh.mp4'])(
    '%s: every frame once in each rung, from one decoder',
    async (name) => {
      const { made, inputs, result } = await encode(name, () => ['270p', 'small']);
      const frames = inputs.reduce((sum, input) => sum + ('end' in input ? 0 : input.samples.length), 0);
      expect(result.decodedFrames).toBe(frames);
      for (const rung of rungs) {
        expect(made[rung.name]).toHaveLength(inputs.length);
        expect(counters(rung, made[rung.name]!)).toEqual(numbers(0, frames));
        const keys = readPackets([initOf(rung), ...made[rung.name]!.map(({ bytes }) => bytes)])
          .filter(({ keyFrame }) => keyFrame)
          .map(({ ptsSeconds }) => Math.round(ptsSeconds * 90_000));
        expect(keys).toEqual(made[rung.name]!.filter(({ part }) => part === 0).map(({ startTicks }) => startTicks));
      }
    },
  );

  it('starts and stops rungs at segments without touching the others', async () => {
    const { made, result } = await encode('live-480p.mp4', (segment) =>
      segment === 8 || segment === 9 || segment === 12 ? ['270p', 'small'] : ['270p'],
    );
    expect(result.decodedFrames).toBe(720);
    expect(counters(rungs[0]!, made['270p']!)).toEqual(numbers(0, 720));
    expect(counters(rungs[1]!, made.small!)).toEqual([...numbers(60, 120), ...numbers(300, 60)]);
  });

  it('begins in the middle of a segment with a key frame', async () => {
    const { made } = await encode('live-480p.mp4', (segment, part) => (segment > 8 || part > 2 ? ['270p'] : []));
    const [first] = made['270p']!;
    expect(first).toMatchObject({ segment: 7, part: 3, startsWithKey: true });
    const after = made['270p']!.filter(({ segment }) => segment !== 8);
    expect(counters(rungs[0]!, after)).toEqual([...numbers(30, 30), ...numbers(120, 600)]);
  });

  it('cuts where the recording was cut without a key frame', async () => {
    const { made } = await encode('live-480p.mp4', () => ['270p'], { halfGops: true });
    expect(made['270p']!.filter(({ startsWithKey }) => startsWithKey)).toHaveLength(24);
    expect(counters(rungs[0]!, made['270p']!)).toEqual(numbers(0, 720));
  });

  it('loses no frame when the decoder starts again', async () => {
    const { made } = await encode('live-480p.mp4', () => ['270p'], { restartAt: 10 });
    expect(counters(rungs[0]!, made['270p']!)).toEqual(numbers(0, 720));
  });
});
