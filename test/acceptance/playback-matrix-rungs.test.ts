import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type EncodedName, fixture } from '../support/media/fixtures.js';
import { readFrameCounters } from '../support/media/measure.js';
import { readSourceTruth } from '../support/media/source-truth.js';
import {
  findBoxes,
  type PlayedRendition,
  playRendition,
  playThrough,
  readMultivariant,
} from '../support/players/play-through.js';
import { checkFrames, durationOf } from '../support/players/playback-checks.js';
import { type Booted, boot } from '../support/servers/boot.js';
import type { Origin } from '../support/servers/origin.js';
import { createAsset, serveFiles, settled } from '../support/wire/create-asset.js';

// Several rungs, copied rungs, segments in any order, modifiers.
const names: EncodedName[] = ['copy-1080p.mp4', 'long.mp4', 'one-key-frame.mp4', 'open-gop.mp4', 'anamorphic-pal.ts'];
let server: Booted;
let origin: Origin;

/** A new asset of the fixture, with nothing made but what its ingest makes. */
const playbackUrl = async (name: EncodedName): Promise<string> => {
  const inputs = [{ url: `${origin.url}/${names.indexOf(name)}` }];
  const { id } = await createAsset(server, { inputs, playback_policies: ['public'] });
  const asset = await settled(server, id);
  expect(asset.errors).toBeUndefined();
  return `${server.url}/${asset.playback_ids![0]!.id}`;
};

beforeAll(async () => {
  origin = await serveFiles(await Promise.all(names.map((name) => fixture(name))));
  server = await boot();
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
});

const samplesOf = ({ segments }: PlayedRendition): Buffer[] =>
  segments.flatMap(({ bytes, samples }) => {
    const [mdat] = findBoxes(bytes, 'mdat');
    let at = 0;
    return samples.map(({ sizeBytes }) => {
      at += sizeBytes;
      return mdat!.subarray(at - sizeBytes, at);
    });
  });

describe('a source that fits its rung', () => {
  let url: string;
  beforeAll(async () => {
    url = await playbackUrl('copy-1080p.mp4');
  });

  test('is served packet by packet, and other rungs may take over at every segment', async () => {
    const { variants } = await readMultivariant(url);
    const sizes = variants.map(({ attributes }) => attributes.RESOLUTION);
    expect(sizes).toEqual(['854x480', '480x270', '1280x720', '1920x1080']);
    const top = await playRendition(variants[3]!);
    const low = await playRendition(variants[1]!);
    const source = await readFile(await fixture('copy-1080p.mp4'));
    let from = 0;
    for (const sample of samplesOf(top)) {
      const at = source.indexOf(sample, from);
      expect(at, `a packet of ${sample.length} bytes`).toBeGreaterThanOrEqual(from);
      from = at + sample.length;
    }
    const truth = await readSourceTruth('copy-1080p.mp4');
    checkFrames(low, truth);
    let counter = 0;
    top.segments.forEach((segment, number) => {
      const other = low.segments[number]!;
      expect(segment.baseTicks / top.timescale).toBe(other.baseTicks / low.timescale);
      const counters = readFrameCounters([top.init, segment.bytes]).map((frame) => frame.counter);
      expect(counters).toEqual(readFrameCounters([low.init, other.bytes]).map((frame) => frame.counter));
      expect(counters[0]).toBe(counter);
      counter += counters.length;
    });
    expect(counter).toBe(truth.frames.length);
  });

  const sizesFor = async (query: string): Promise<(string | undefined)[]> =>
    (await readMultivariant(`${url}.m3u8?${query}`)).variants.map(({ attributes }) => attributes.RESOLUTION);

  test('is offered as modifiers ask', async () => {
    expect(await sizesFor('max_resolution=720p')).toEqual(['854x480', '480x270', '1280x720']);
    expect(await sizesFor('max_resolution=270p')).toEqual(['480x270']);
    expect((await sizesFor('min_resolution=720p')).toSorted()).toEqual(['1280x720', '1920x1080']);
    expect(await sizesFor('min_resolution=2160p')).toEqual(['1920x1080']);
    expect((await sizesFor('min_resolution=480p&max_resolution=720p')).toSorted()).toEqual(['1280x720', '854x480']);
    expect(await sizesFor('rendition_order=desc')).toEqual(['1920x1080', '1280x720', '854x480', '480x270']);
    expect(await sizesFor('max_resolution=&CMCD=x')).toHaveLength(4);
    for (const [query, name] of [
      ['max_resolution=900p', 'max_resolution'],
      ['min_resolution=1080p&max_resolution=480p', 'min_resolution'],
      ['rendition_order=asc', 'rendition_order'],
      ['asset_start_time=10', 'asset_start_time'],
      ['asset_start_time=-1', 'asset_start_time'],
      ['asset_start_time=4&asset_end_time=4', 'asset_start_time'],
      ['program_start_time=1', 'program_start_time'],
    ]) {
      const response = await fetch(`${url}.m3u8?${query}`);
      expect(response.status, query).toBe(400);
      expect(await response.text(), query).toContain(`Invalid parameter: ${name}`);
    }
  });

  test('has a second address for every variant when streams are to be redundant', async () => {
    const once = await readMultivariant(url);
    const { variants } = await readMultivariant(`${url}.m3u8?redundant_streams=true`);
    const addresses = variants.map((variant) => variant.url);
    expect(variants).toHaveLength(2 * once.variants.length);
    expect(new Set(addresses).size).toBe(addresses.length);
    const second = variants.filter((variant) => !once.variants.some(({ url: known }) => known === variant.url));
    expect(second.map(({ attributes }) => attributes)).toEqual(once.variants.map(({ attributes }) => attributes));
    const first = await playRendition(once.variants[1]!, () => false);
    expect((await playRendition(second[1]!, () => false)).lines).toEqual(first.lines);
  });
});

test('an instant clip is made of the segments that hold its start and its end', async () => {
  const url = await playbackUrl('long.mp4');
  const whole = await playThrough(`${url}.m3u8`);
  const clip = await playThrough(`${url}.m3u8?asset_start_time=5&asset_end_time=13.5`);
  expect(durationOf(whole.variants[0]!)).toBeCloseTo(20, 3);
  expect(durationOf(clip.variants[0]!)).toBeCloseTo(12, 3);
  for (const [part, all] of [
    [clip.variants[0]!, whole.variants[0]!],
    [clip.audio!, whole.audio!],
  ] as const) {
    expect(part.segments.map(({ url: address }) => address)).toEqual(
      all.segments.slice(2, 5).map(({ url: address }) => address),
    );
    expect(part.segments.every(({ bytes }, index) => bytes.equals(all.segments[index + 2]!.bytes))).toBe(true);
  }
  const counters = clip.variants[0]!.segments.flatMap(({ bytes }) =>
    readFrameCounters([clip.variants[0]!.init, bytes]),
  );
  expect(counters.map(({ counter }) => counter)).toEqual(Array.from({ length: 360 }, (_, index) => 120 + index));
  // The end beyond the asset is its end.
  const tail = await playThrough(`${url}.m3u8?asset_start_time=18&asset_end_time=100`);
  expect(tail.variants[0]!.segments).toHaveLength(1);
});

test('the order in which segments are asked for changes nothing', async () => {
  for (const name of ['one-key-frame.mp4', 'open-gop.mp4', 'anamorphic-pal.ts'] as const) {
    const [first, second] = [await playbackUrl(name), await playbackUrl(name)];
    const inOrder = await readMultivariant(first);
    const backwards = await readMultivariant(second);
    for (const [number, variant] of inOrder.variants.entries()) {
      const forth = await playRendition(variant);
      const back: Buffer[] = [];
      for (let segment = forth.segments.length - 1; segment >= 0; segment--) {
        const played = await playRendition(backwards.variants[number]!, (wanted) => wanted === segment);
        back.unshift(...played.segments.map(({ bytes }) => bytes));
      }
      const init = (await playRendition(backwards.variants[number]!, () => false)).init;
      expect(init.equals(forth.init), name).toBe(true);
      expect(back.length, name).toBe(forth.segments.length);
      for (const [segment, bytes] of back.entries())
        expect(bytes.equals(forth.segments[segment]!.bytes), `${name} ${segment}`).toBe(true);
    }
    const audio = await playRendition(inOrder.audio!);
    const audioBack = await playRendition(backwards.audio!, (segment) => segment === audio.segments.length - 1);
    expect(audioBack.segments[0]!.bytes.equals(audio.segments.at(-1)!.bytes), name).toBe(true);
  }
});
