import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { GENERATION } from '#kinora/media/plan/generation.js';
import { type EncodedName, fixture } from '../../support/media/fixtures.js';
import { measureTone, readAudio } from '../../support/media/measure.js';
import { readSourceTruth } from '../../support/media/source-truth.js';
import {
  type PlayedRendition,
  playRendition,
  playThrough,
  readMultivariant,
} from '../../support/players/play-through.js';
import { checkAudio, checkPlaylists, durationOf } from '../../support/players/playback-checks.js';
import { inSeconds, signToken } from '../../support/players/playback-token.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { api, createAsset, serveFiles, settled, type WireAsset } from '../../support/wire/create-asset.js';
import { withTracks } from '../../support/wire/tracks.js';

const FILES = [
  'long.mp4',
  'audio-only.flac',
  'long-audio.mkv',
  'h264-aac-5.1.mp4',
  'h264-aac-44100-mono.mp4',
  'video-only.mp4',
  'audio-only.mp3',
  'audio-late.mkv',
  'ts-concatenated.ts',
] as const;

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

const TEXT = FILES.length;
const EMPTY = FILES.length + 1;
const url = (file: (typeof FILES)[number] | number): string =>
  `${origin.url}/${typeof file === 'number' ? file : FILES.indexOf(file)}`;
const create = async (inputs: readonly object[], further: object = {}): Promise<WireAsset> => {
  const { id } = await createAsset(server, { inputs, playback_policies: ['public'], ...further });
  const asset = await settled(server, id);
  expect(asset.errors).toBeUndefined();
  return withTracks(server, asset);
};
const audioTracksOf = (asset: WireAsset) => asset.tracks!.filter(({ type }) => type === 'audio');
const tracksPath = (asset: WireAsset, track = ''): string =>
  `/video/v1/assets/${asset.id}/tracks${track && `/${track}`}`;
/** The track as the answer shows it. */
const addTrack = async (asset: WireAsset, body: object): Promise<{ id: string; [field: string]: unknown }> => {
  const response = await api(server, 'POST', tracksPath(asset), { type: 'audio', ...body });
  expect(response.status, await response.clone().text()).toBe(201);
  return ((await response.json()) as { data: { id: string } }).data;
};
const eventsOf = async (objectId: string): Promise<{ type: string; data: Record<string, unknown> }[]> => {
  const response = await api(server, 'GET', `/system/v1/events?object_id=${objectId}`);
  return ((await response.json()) as { data: { type: string; data: Record<string, unknown> }[] }).data.reverse();
};
/** Types of everything that happened to an asset and its tracks, in order. */
const happened = async ({ id: assetId }: WireAsset): Promise<string[]> => {
  const response = await api(server, 'GET', '/system/v1/events?limit=100');
  const { data } = (await response.json()) as { data: { type: string; data: Record<string, unknown> }[] };
  return data
    .filter(({ data: { id, asset_id } }) => id === assetId || asset_id === assetId)
    .map(({ type }) => type.replace('video.asset.', ''))
    .reverse();
};
const playlist = ({ playback_ids }: WireAsset) => `${server.url}/${playback_ids![0]!.id}.m3u8`;
/** The rendition of the group whose name it is. */
const playAudio = async (asset: WireAsset, name: string): Promise<PlayedRendition> => {
  const { audioGroup } = await readMultivariant(playlist(asset));
  return playRendition(audioGroup.find(({ attributes }) => attributes.NAME === name)!);
};
const checkInPhase = async (audio: PlayedRendition, file: EncodedName, expected: Parameters<typeof checkAudio>[2]) =>
  checkAudio(audio, await readSourceTruth(file), expected);

describe('alternate audio of the creation request', () => {
  let asset: WireAsset;
  beforeAll(async () => {
    const dubs = ['audio-only.flac', 'long-audio.mkv', 'h264-aac-5.1.mp4', 'h264-aac-44100-mono.mp4'] as const;
    const languages = ['fr', 'es', 'pt-BR', 'fr'];
    // One by its language alone: without a type it can be nothing else.
    const inputs = dubs.map((name, index) => ({
      url: url(name),
      ...(index > 0 && { type: 'audio' }),
      language_code: languages[index],
    }));
    asset = await create([{ url: url('long.mp4'), language_code: 'en' }, ...inputs], {
      playback_policies: ['public', 'signed'],
    });
  });

  test('is listed after the primary track, named by its language', () => {
    expect(
      audioTracksOf(asset).map(({ name, language_code, primary, max_channels }) => [
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
    expect(audioTracksOf(asset).map(({ duration }) => duration)).toEqual(
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
      const audio = await playAudio(asset, attributes.NAME!);
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
      await checkInPhase(await playAudio(asset, name), file, expected);
    },
  );

  test('comes down to stereo and is as long as the video', async () => {
    const audio = await playAudio(asset, 'Portuguese (Brazil)');
    expect(audio.segments).toHaveLength(6);
    expect(durationOf(audio)).toBeCloseTo(20, 1);
  });

  test('follows an instant clip', async () => {
    const { audioGroup } = await readMultivariant(`${playlist(asset)}?asset_start_time=5&asset_end_time=11`);
    const french = audioGroup.find(({ attributes }) => attributes.NAME === 'French')!;
    const { segments } = await playRendition(french);
    expect(segments.map(({ url: address }) => /\/(\d+)\.m4s/.exec(address)![1])).toEqual(['2', '3']);
  });

  test('opens by the signature of its own address alone', async () => {
    const key = await api(server, 'POST', '/system/v1/signing-keys');
    const { id, private_key: keySecret } = ((await key.json()) as { data: Record<string, string> }).data;
    const playback = asset.playback_ids![1]!;
    const claims = { kid: id, sub: playback.id, aud: 'v', exp: inSeconds(600) };
    const token = signToken({ keyId: id!, keySecret: keySecret! }, claims);
    const { audioGroup } = await readMultivariant(`${server.url}/${playback.id}.m3u8?token=${token}`);
    const [french, spanish] = ['French', 'Spanish'].map(
      (name) => audioGroup.find(({ attributes }) => attributes.NAME === name)!.url,
    );
    const { segments } = await playRendition({ attributes: {}, url: french! }, (segment) => segment === 1);
    expect(segments[0]!.samples.length).toBeGreaterThan(90);
    const foreign = new URL(french!);
    foreign.search = new URL(spanish!).search;
    for (const refused of [foreign.href, french!.split('?')[0]!]) expect((await fetch(refused)).status).toBe(403);
  });

  test('is in the list of events beside the asset, and in its input info', async () => {
    const events = await happened(asset);
    expect(events[0]).toBe('created');
    for (const track of audioTracksOf(asset).slice(1)) {
      const of = await eventsOf(String(track.id));
      expect(of.map(({ type }) => type)).toEqual(['video.asset.track.created', 'video.asset.track.ready']);
      expect(of.map(({ data }) => data.status)).toEqual(['preparing', 'ready']);
      expect(of[1]!.data).toEqual({ ...track, asset_id: asset.id });
    }
    expect(events.filter((type) => type !== 'track.created' && type !== 'track.ready')).toEqual(['created', 'ready']);
    const response = await api(server, 'GET', `/video/v1/assets/${asset.id}/input-info`);
    const { data } = (await response.json()) as { data: { file: { container_format: string } }[] };
    expect(data.map(({ file }) => file.container_format.split(',')[0])).toEqual([
      'mov',
      'flac',
      'matroska',
      'mov',
      'mov',
    ]);
  });
});

describe('audio that is added later', () => {
  test('joins the playlist when it is ready, is renamed there at once, and leaves it when it is deleted', async () => {
    const asset = await create([{ url: url('long.mp4') }]);
    const added = await addTrack(asset, { url: url('audio-only.mp3'), language_code: 'de', name: 'Deutsch' });
    expect(added).toMatchObject({ type: 'audio', status: 'preparing', language_code: 'de', name: 'Deutsch' });
    expect(added.primary).toBeUndefined();
    const ready = audioTracksOf(await withTracks(server, asset))[1]!;
    expect(ready).toMatchObject({ id: added.id, status: 'ready', max_channels: 2, max_channel_layout: 'stereo' });
    const audio = await playAudio(asset, 'Deutsch');
    // MP3 begins with its own silence, which its container can't tell.
    await checkInPhase(audio, 'audio-only.mp3', { channels: 2 });

    const renamed = await api(server, 'PATCH', tracksPath(asset, added.id), {
      name: 'Kommentar',
      language_code: 'de-AT',
    });
    expect(renamed.status).toBe(200);
    const { audioGroup } = await readMultivariant(playlist(asset));
    expect(audioGroup[1]!.attributes).toMatchObject({ NAME: 'Kommentar', LANGUAGE: 'de-AT' });

    const folders = [
      join('blobs', 'assets', asset.id, 'tracks', added.id),
      join('cache', asset.id.slice(0, 2), asset.id, String(GENERATION), `audio-${added.id}`),
    ];
    const files = (): string[] =>
      folders.flatMap((name) => {
        const path = join(server.dataDir, name);
        return existsSync(path) ? readdirSync(path) : [];
      });
    expect(files().length).toBeGreaterThan(4);
    expect((await api(server, 'DELETE', tracksPath(asset, added.id))).status).toBe(204);
    expect((await readMultivariant(playlist(asset))).audioGroup).toHaveLength(1);
    expect((await fetch(audio.url)).status).toBe(404);
    expect((await fetch(audio.segments[0]!.url)).status).toBe(404);
    await vi.waitFor(() => expect(files()).toEqual([]), { timeout: 120_000, interval: 100 });
    expect(await happened(asset)).toEqual([
      'created',
      'ready',
      'track.created',
      'track.ready',
      'updated',
      'track.deleted',
    ]);
  });

  test('is what plays of an asset without audio', async () => {
    const asset = await create([{ url: url('video-only.mp4') }]);
    expect(audioTracksOf(asset)).toEqual([]);
    const [first, second] = ['audio-late.mkv', 'audio-only.flac'] as const;
    const added = await addTrack(asset, { url: url(first), language_code: 'en' });
    expect(audioTracksOf(await withTracks(server, asset))).toMatchObject([
      { id: added.id, primary: true, name: 'English' },
    ]);
    await addTrack(asset, { url: url(second), language_code: 'es' });
    const both = await withTracks(server, asset);
    expect(audioTracksOf(both).map(({ primary }) => primary)).toEqual([true, undefined]);
    const played = await playThrough(playlist(asset));
    checkPlaylists(played, both);
    expect(played.audio!.attributes).toMatchObject({ NAME: 'English', DEFAULT: 'YES' });
    // The first audio stream of a file with frames keeps its distance to them.
    await checkInPhase(played.audio!, first, { channels: 2 });
    await checkInPhase(await playAudio(asset, 'Spanish'), second, { channels: 2 });
    expect((await api(server, 'DELETE', tracksPath(asset, added.id))).status).toBe(400);
  });

  test('is a second language of an asset of audio alone', async () => {
    const asset = await create([{ url: url('audio-only.mp3'), name: 'Main' }]);
    await addTrack(asset, { url: url('h264-aac-44100-mono.mp4'), language_code: 'it' });
    const both = await withTracks(server, asset);
    const { variants, audioGroup } = await readMultivariant(playlist(asset));
    expect(variants).toHaveLength(1);
    expect(audioGroup.map(({ attributes }) => attributes.NAME)).toEqual(['Main', 'Italian']);
    expect(audioGroup[0]!.url).toBe(variants[0]!.url);
    const played = await playThrough(playlist(asset));
    const italian = await playAudio(asset, 'Italian');
    checkPlaylists({ ...played, audio: italian }, both);
    await checkInPhase(italian, 'h264-aac-44100-mono.mp4', { channels: 1 });
  });
});

test('recordings in one file are heard one after the other', async () => {
  const asset = await create([
    { url: url('long.mp4') },
    { url: url('ts-concatenated.ts'), type: 'audio', language_code: 'fi' },
  ]);
  expect(audioTracksOf(asset)[1]).toMatchObject({ name: 'Finnish', status: 'ready' });
  const { init, segments } = await playAudio(asset, 'Finnish');
  const { channels, sampleRate } = readAudio([init, ...segments.map(({ bytes }) => bytes)]);
  const levelAt = (seconds: number): number =>
    measureTone(channels[0]!, sampleRate, 400, Math.round(seconds * sampleRate), sampleRate / 10).amplitude;
  // Six seconds, then five, then nothing.
  for (const seconds of [0.5, 3.5, 5.5, 6.5, 8.5, 10.5])
    expect(levelAt(seconds), `at ${seconds}`).toBeGreaterThan(0.15);
  for (const seconds of [11.5, 15]) expect(levelAt(seconds), `at ${seconds}`).toBeLessThan(0.01);
});

describe('a file that is no use', () => {
  test.each([
    ['text', 'The input file is not a valid video file.'],
    ['empty', 'The input file is empty.'],
    ['missing', 'The input file could not be downloaded: HTTP status 404.'],
    ['without audio', 'The input file does not contain any audio.'],
  ])('errors its track alone: %s', async (kind, message) => {
    const file = { text: url(TEXT), empty: url(EMPTY), missing: url(99), 'without audio': url('video-only.mp4') }[kind];
    const asset = await create([{ url: url('audio-only.mp3') }, { url: file, type: 'audio', language_code: 'nl' }]);
    const [main, dutch] = audioTracksOf(asset);
    expect(main!.status).toBe('ready');
    expect(dutch).toMatchObject({ status: 'errored', name: 'Dutch' });
    expect(dutch).not.toHaveProperty('error');
    const events = await eventsOf(String(dutch!.id));
    expect(events.map(({ type }) => type)).toEqual(['video.asset.track.created', 'video.asset.track.errored']);
    expect(events[1]!.data).toMatchObject({ status: 'errored', error: { type: 'invalid_input', messages: [message] } });
    expect((await readMultivariant(playlist(asset))).audioGroup).toEqual([]);
    expect((await api(server, 'DELETE', tracksPath(asset, String(dutch!.id)))).status).toBe(204);
  });
});
