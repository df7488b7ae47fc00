/**
 * Plays fixtures through one server, each from its URL to its last sample, and holds the results
 * against the sources.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EncodedName, fixture, recipeOf } from '../media/fixtures.js';
import { readSourceTruth } from '../media/source-truth.js';
import { type Booted, boot } from '../servers/boot.js';
import type { Origin } from '../servers/origin.js';
import { createAsset, serveFiles, settled } from '../wire/create-asset.js';
import { type PlayedRendition, playThrough } from './play-through.js';
import {
  type AudioExpectation,
  checkAudio,
  checkFrames,
  checkPlaylists,
  checkSync,
  isOriginal,
} from './playback-checks.js';

export interface MatrixRow extends Partial<AudioExpectation> {
  readonly name: EncodedName;
  /** Sizes of the rungs in the order of the playlist; the painted size unless told. */
  readonly rungs?: readonly string[];
  readonly frameStep?: number;
  /** Another fixture with the same frames, whose brightness they must have. */
  readonly looksLike?: EncodedName;
  readonly lumaTolerance?: number;
}

const AUDIO_FRAME_SECONDS = 1024 / 44_100;

export const playMatrix = (rows: readonly MatrixRow[]): void => {
  let server: Booted;
  let origin: Origin;
  const assetIds = new Map<string, string>();

  beforeAll(async () => {
    const paths: string[] = [];
    for (const { name } of rows) paths.push(await fixture(name));
    origin = await serveFiles(paths);
    server = await boot();
    // All at once: the server works on the next ones while a test measures.
    for (const [index, { name }] of rows.entries()) {
      const inputs = [{ url: `${origin.url}/${index}` }];
      assetIds.set(name, (await createAsset(server, { inputs, playback_policies: ['public'] })).id);
    }
  });
  afterAll(async () => {
    await server?.stop();
    await origin?.stop();
  });

  test.each(rows)('$name', async (row) => {
    const { name, frameStep, looksLike, lumaTolerance } = row;
    const { video, audio } = recipeOf(name);
    const asset = await settled(server, assetIds.get(name)!);
    expect(asset.errors).toBeUndefined();
    expect(asset.status).toBe('ready');
    const played = await playThrough(`${server.url}/${asset.playback_ids![0]!.id}.m3u8`);
    checkPlaylists(played, asset);

    const truth = await readSourceTruth(name);
    const frameSeconds = Math.max(truth.frameSeconds, AUDIO_FRAME_SECONDS);
    expect.soft(Math.abs(asset.duration! - truth.durationSeconds), 'duration').toBeLessThan(frameSeconds + 0.001);
    const ladder = played.variants.filter((variant) => !isOriginal(variant));
    const sizes = ladder.map(({ attributes }) => attributes.RESOLUTION);
    const painted = video && [`${video.width}x${video.height}`];
    expect.soft(sizes, 'rungs').toEqual(row.rungs ?? painted ?? [undefined]);
    const looks = looksLike && (await readSourceTruth(looksLike));
    const frames = truth.frames.map((frame, index) => ({
      ...frame,
      ...(looks && { luma: looks.frames[index]!.luma }),
    }));
    // The counter of HDR frames can't be read.
    const readable = played.variants.filter(({ attributes }) => attributes['VIDEO-RANGE'] === undefined);
    for (const variant of video ? readable : [])
      checkFrames(
        variant,
        { ...truth, frames },
        { ...(frameStep && { frameStep }), ...(lumaTolerance && { lumaTolerance }) },
      );

    expect.soft(played.audio !== undefined, 'audio').toBe(video !== undefined && audio !== undefined);
    if (!audio) return;
    const playedAudio = (played.audio ?? played.variants[0]) as PlayedRendition;
    checkAudio(playedAudio, truth, { hole: audio.hole, ...row, channels: Math.min(audio.channels, 2) });
    if (!video) return;
    const { startSeconds, channels, sampleRate } = truth.audio!;
    const end = startSeconds + channels[0]!.length / sampleRate;
    const before = {
      frameSeconds: truth.frameSeconds,
      delaySeconds: video.startSeconds ?? 0,
      from: startSeconds,
      until: (audio.hole?.[0] ?? end) - 0.1,
    };
    expect.soft(checkSync(played.variants[0]!, playedAudio, before), 'flashes with a beep').toBeGreaterThan(0);
    if (audio.hole)
      checkSync(played.variants[0]!, playedAudio, { frameSeconds: truth.frameSeconds, from: audio.hole[1] + 0.1 });
  });
};
