import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Booted, boot } from '../support/boot.js';
import { api, createAsset, getAsset, serveFiles, settled, type WireAsset } from '../support/create-asset.js';
import { type EncodedName, fixture } from '../support/fixtures.js';
import type { Origin } from '../support/origin.js';
import { type PlayedRendition, playRendition, playThrough, readMultivariant } from '../support/play-through.js';
import { checkPlaylists, checkSound, durationOf } from '../support/playback-checks.js';
import { readSourceTruth } from '../support/source-truth.js';

const FILES = [
  'long.mp4',
  'audio-only.flac',
  'long-audio.mkv',
  'h264-aac-5.1.mp4',
  'h264-aac-44100-mono.mp4',
  'video-only.mp4',
  'audio-only.mp3',
  'audio-late.mkv',
  'h264-aac.ts',
] as const;
const LIMIT_MS = 60_000;

let server: Booted;
let origin: Origin;
beforeAll(async () => {
  const paths: string[] = [];
  for (const name of FILES) paths.push(await fixture(name));
  origin = await serveFiles([...paths, await fixture('text.mp4'), await fixture('empty.mp4')]);
  server = await boot();
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
});

const url = (name: (typeof FILES)[number]): string => `${origin.url}/${FILES.indexOf(name)}`;
const create = async (inputs: readonly object[], further: object = {}): Promise<WireAsset> => {
  const asset = await createAsset(server, { inputs, playback_policies: ['public'], ...further });
  return settled(server, asset.id, LIMIT_MS);
};
/** Once no track is preparing any more. */
const withTracks = async ({ id }: WireAsset): Promise<WireAsset> => {
  const until = performance.now() + LIMIT_MS;
  for (;;) {
    const asset = await getAsset(server, id);
    if (asset.tracks!.every(({ status }) => status !== 'preparing')) return asset;
    if (performance.now() > until) throw new Error(JSON.stringify(asset.tracks));
    await delay(100);
  }
};
const soundsOf = (asset: WireAsset) => asset.tracks!.filter(({ type }) => type === 'audio');
const addTrack = async (asset: WireAsset, body: object): Promise<Record<string, unknown>> => {
  const answer = await api(server, 'POST', `/video/v1/assets/${asset.id}/tracks`, { type: 'audio', ...body });
  expect(answer.status, await answer.clone().text()).toBe(201);
  return ((await answer.json()) as { data: Record<string, unknown> }).data;
};
const playlist = ({ playback_ids }: WireAsset) => `${server.url}/${playback_ids![0]!.id}.m3u8`;
/** The rendition of the group whose name it is. */
const playSound = async (asset: WireAsset, name: string): Promise<PlayedRendition> => {
  const { audioGroup } = await readMultivariant(playlist(asset));
  return playRendition(audioGroup.find(({ attributes }) => attributes.NAME === name)!);
};
const checkInPhase = async (sound: PlayedRendition, file: EncodedName, expected: Parameters<typeof checkSound>[2]) =>
  checkSound(sound, await readSourceTruth(file), expected);

describe('further sound of the creation request', () => {
  let asset: WireAsset;
  beforeAll(async () => {
    const dubs = ['audio-only.flac', 'long-audio.mkv', 'h264-aac-5.1.mp4', 'h264-aac-44100-mono.mp4'] as const;
    const languages = ['fr', 'es', 'pt-BR', 'fr'];
    const inputs = dubs.map((name, index) => ({ url: url(name), type: 'audio', language_code: languages[index] }));
    asset = await withTracks(await create([{ url: url('long.mp4'), language_code: 'en' }, ...inputs]));
  });

  test('is listed after the primary track, named by its language', () => {
    expect(
      soundsOf(asset).map(({ name, language_code, primary, max_channels }) => [
        name,
        language_code,
        primary,
        max_channels,
      ]),
    ).toEqual([
      ['Default', 'en', true, 2],
      ['French', 'fr', undefined, 2],
      ['Spanish', 'es', undefined, 2],
      ['Portuguese (Brazil)', 'pt-BR', undefined, 2],
      ['French (2)', 'fr', undefined, 1],
    ]);
    expect(soundsOf(asset).map(({ duration }) => duration)).toEqual(
      [20, 12, 20, 6, 6].map((seconds) => expect.closeTo(seconds, 1)),
    );
  });

  test('is one group of the playlist, in which the primary track is the default', async () => {
    const { lines, audioGroup } = await readMultivariant(playlist(asset));
    expect(
      audioGroup.map(({ attributes: { NAME, LANGUAGE, DEFAULT, CHANNELS } }) => [NAME, LANGUAGE, DEFAULT, CHANNELS]),
    ).toEqual([
      ['Default', 'en', 'YES', '2'],
      ['French', 'fr', 'NO', '2'],
      ['Spanish', 'es', 'NO', '2'],
      ['Portuguese (Brazil)', 'pt-BR', 'NO', '2'],
      ['French (2)', 'fr', 'NO', '1'],
    ]);
    const variants = lines.filter((line) => line.startsWith('#EXT-X-STREAM-INF'));
    expect(variants.every((line) => line.includes(',AUDIO="aud"'))).toBe(true);
    const played = await playThrough(playlist(asset));
    for (const { attributes } of audioGroup) {
      const audio = await playSound(asset, attributes.NAME!);
      checkPlaylists({ ...played, audio }, asset);
    }
  });

  test.each([
    ['French', 'audio-only.flac', { channels: 2 }],
    ['Spanish', 'long-audio.mkv', { channels: 2 }],
    ['French (2)', 'h264-aac-44100-mono.mp4', { channels: 1 }],
  ] as const)(
    '%s is in phase with its file, silent after its end, without a click at any join',
    async (name, file, expected) => {
      await checkInPhase(await playSound(asset, name), file, expected);
    },
  );

  test('comes down to stereo and is as long as the picture', async () => {
    const sound = await playSound(asset, 'Portuguese (Brazil)');
    expect(sound.segments).toHaveLength(5);
    expect(durationOf(sound)).toBeCloseTo(20, 1);
  });
});
