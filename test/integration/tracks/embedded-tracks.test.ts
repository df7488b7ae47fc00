import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, test as anyTest, beforeAll, expect } from 'vitest';
import { makeEmbeddedFile } from '../../support/media/embedded-file.js';
import { ffmpegPath } from '../../support/media/ffmpeg-command.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { api, createAsset, serveFiles, settled, type WireAsset } from '../../support/wire/create-asset.js';
import { eventsOf } from '../../support/wire/events.js';
import { withTracks } from '../../support/wire/tracks.js';

const test = anyTest.skipIf(!ffmpegPath);

/** One character less than the limit of titles. */
const LONG_TITLE = 'x'.repeat(254);
const audio = [
  { codec: 'aac', language: 'eng', disposition: 'default' },
  { codec: 'aac', language: 'fre', title: 'Commentaire' },
];

const LANGUAGES = ['eng', 'fre', 'ger', 'spa', 'ita', 'por', 'dut', 'swe'];

let server: Booted;
let files: readonly string[];
let origin: Origin;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kinora-embedded-'));
  const matroska = makeEmbeddedFile(folder, 'a.mkv', {
    audio: audio.map((stream) => ({ ...stream, codec: 'flac' })),
    text: [
      { codec: 'subrip', language: 'fre', disposition: 'forced' },
      { codec: 'ass', language: 'ger', disposition: 'hearing_impaired' },
      { codec: 'webvtt', title: 'Signs & songs' },
      { codec: 'subrip', language: 'fre', disposition: 'forced' },
      { codec: 'copy', language: 'spa', title: `${LONG_TITLE}🎬 2` },
    ],
  });
  const mp4 = makeEmbeddedFile(folder, 'a.mp4', { audio, text: [{ codec: 'mov_text', language: 'por' }] });
  const many = makeEmbeddedFile(folder, 'many.mkv', {
    audio: Array.from({ length: 18 }, (_, at) => ({ codec: 'flac', language: LANGUAGES[at % LANGUAGES.length]! })),
    text: Array.from({ length: 52 }, (_, at) => ({ codec: 'subrip', language: LANGUAGES[at % LANGUAGES.length]! })),
  });
  files = [await matroska, await mp4, await many];
  origin = await serveFiles(files);
  server = await boot();
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
  await rm(folder, { recursive: true, force: true });
});

const create = async (input: object): Promise<WireAsset> => {
  const { id } = await createAsset(server, { inputs: [input], playback_policies: ['public'] });
  const asset = await withTracks(server, await settled(server, id));
  expect(asset.errors).toBeUndefined();
  return asset;
};
const tracksOf = ({ tracks = [] }: WireAsset, type: string) => tracks.filter((track) => track.type === type);
const playbackOf = ({ playback_ids: ids }: WireAsset): string => `${server.url}/${ids![0]!.id}`;
const textOf = async (asset: WireAsset, track: Record<string, unknown>): Promise<string> =>
  (await fetch(`${playbackOf(asset)}/text/${track.id}.vtt`)).text();
const warningsOf = async ({ id }: WireAsset): Promise<string[]> =>
  (await eventsOf(server, id))
    .filter(({ type }) => type === 'video.asset.warning')
    .map(({ data }) => (data.warning as { message: string }).message);

const CUES = `WEBVTT

00:00:01.000 --> 00:00:02.500
<i>Bonjour</i> &amp; salut

00:00:05.000 --> 00:00:07.000
Deux
lignes
`;

test('streams of a Matroska file become tracks on request', async () => {
  const asset = await create({ url: `${origin.url}/0`, embedded_tracks: true });
  expect(tracksOf(asset, 'text')).toMatchObject([
    { status: 'ready', name: 'French (forced)', language_code: 'fr', closed_captions: false, text_source: 'embedded' },
    { status: 'ready', name: 'German', language_code: 'de', closed_captions: true },
    { status: 'ready', name: 'Signs & songs', language_code: 'und' },
    { status: 'ready', name: 'French (forced) (2)', language_code: 'fr' },
  ]);
  expect(tracksOf(asset, 'audio')).toMatchObject([
    { primary: true, name: 'English', language_code: 'en' },
    { status: 'ready', name: 'Commentaire', language_code: 'fr' },
  ]);
  const [subrip, ass, webvtt] = await Promise.all(tracksOf(asset, 'text').map((track) => textOf(asset, track)));
  expect(subrip).toBe(CUES);
  expect(ass).toContain('Bonjour &amp; salut');
  expect(webvtt).toContain('Deux\nlignes');
  expect(await warningsOf(asset)).toEqual([
    'The subtitle stream 7 (Spanish, hdmv_pgs_subtitle) was left out. Subtitles that are pictures cannot become text tracks. Add SubRip or WebVTT files instead.',
  ]);
});

test('without a request, warnings name the streams', async () => {
  const asset = await create({ url: `${origin.url}/0` });
  expect(asset.tracks!.map(({ type, name }) => [type, name])).toEqual([
    ['video', undefined],
    ['audio', 'Default'],
  ]);
  expect((await warningsOf(asset)).toSorted()).toEqual([
    expect.stringContaining('The audio stream 2 (French, flac) was left out. Set embedded_tracks on the main input'),
    expect.stringContaining('The subtitle stream 7 (Spanish, hdmv_pgs_subtitle) was left out.'),
    expect.stringContaining(
      'The subtitle streams 3 (French, subrip), 4 (German, ass), 5 (unknown language, webvtt), 6 (French, subrip) were left out. Set embedded_tracks',
    ),
  ]);
  const info = (await (await api(server, 'GET', `/video/v1/assets/${asset.id}/input-info`)).json()) as {
    data: { file: { tracks: object[] } }[];
  };
  expect(info.data[0]!.file.tracks).toMatchObject([
    { type: 'video' },
    { type: 'audio', language_code: 'en' },
    { type: 'audio', language_code: 'fr', name: 'Commentaire' },
    { type: 'text', encoding: 'subrip', language_code: 'fr' },
    { type: 'text', encoding: 'ass', language_code: 'de' },
    { type: 'text', encoding: 'webvtt', name: 'Signs & songs' },
    { type: 'text', encoding: 'subrip', language_code: 'fr' },
    { type: 'text', encoding: 'hdmv_pgs_subtitle', language_code: 'es', name: LONG_TITLE },
  ]);
});

test('an MP4 file has chapters and timed text; clips cut them', async () => {
  const asset = await create({ url: `${origin.url}/1`, embedded_tracks: true });
  const metadata = async (of: WireAsset) => (await fetch(`${playbackOf(of)}/metadata.json`)).json();
  expect(await metadata(asset)).toMatchObject([
    { titles: [{ title: 'Début: one' }], 'start-time': 0, duration: 4 },
    { titles: [{ title: 'Stream #2: the rest' }], 'start-time': 4, duration: 4 },
  ]);
  const [text] = tracksOf(asset, 'text');
  expect(text).toMatchObject({ status: 'ready', name: 'Portuguese', language_code: 'pt' });
  expect(await textOf(asset, text!)).toContain('00:00:05.000 --> 00:00:07.000\nDeux\nlignes\n');
  const playlist = await (await fetch(`${playbackOf(asset)}.m3u8`)).text();
  expect([...playlist.matchAll(/TYPE=AUDIO.*NAME="(.*?)"/g)].map(([, name]) => name)).toEqual([
    'English',
    'Commentaire',
  ]);

  const clip = await create({ url: `mux://assets/${asset.id}`, start_time: 3, end_time: 7 });
  expect(await metadata(clip)).toMatchObject([
    { titles: [{ title: 'Début: one' }], 'start-time': 0, duration: 1 },
    { titles: [{ title: 'Stream #2: the rest' }], 'start-time': 1, duration: 3 },
  ]);
  expect(tracksOf(clip, 'audio').at(-1)).toMatchObject({ status: 'ready', name: 'Commentaire' });
  expect(await textOf(clip, tracksOf(clip, 'text')[0]!)).toContain('00:00:02.000 --> 00:00:04.000\nDeux\nlignes\n');
  expect(await warningsOf(clip)).toEqual([]);
});

test('a file with more streams than become tracks is ready, with a warning', async () => {
  const asset = await create({ url: `${origin.url}/2`, embedded_tracks: true });
  const ready = (type: string) => tracksOf(asset, type).filter(({ status, primary }) => status === 'ready' && !primary);
  expect([ready('text').length, ready('audio').length]).toEqual([50, 16]);
  const names = asset.tracks!.map(({ type, name }) => `${type} ${name}`);
  expect(new Set(names).size).toBe(names.length);
  const playlist = await (await fetch(`${playbackOf(asset)}.m3u8`)).text();
  expect(playlist.match(/TYPE=AUDIO/g)).toHaveLength(17);
  expect(playlist.match(/TYPE=SUBTITLES/g)).toHaveLength(50);
  const last = tracksOf(asset, 'text').at(-1)!;
  expect(await textOf(asset, last)).toBe(CUES);
  expect((await warningsOf(asset)).toSorted()).toEqual([
    'The audio stream 18 (French, flac) was left out. At most 16 audio streams of a file become tracks. Add others as inputs of their own.',
    'The subtitle streams 69 (German, subrip), 70 (Spanish, subrip) were left out. At most 50 text streams of a file become tracks. Add others as inputs of their own.',
  ]);
});

test('an upload has the tracks of its file, and one that is deleted does not return', async () => {
  const settings = { inputs: [{ embedded_tracks: true }], playback_policies: ['public'] };
  const created = await api(server, 'POST', '/video/v1/uploads', { cors_origin: '*', new_asset_settings: settings });
  const { data: upload } = (await created.json()) as { data: { id: string; url: string } };
  expect((await fetch(upload.url, { method: 'PUT', body: await readFile(files[1]!) })).status).toBe(200);
  const found = (await (await api(server, 'GET', `/video/v1/uploads/${upload.id}`)).json()) as {
    data: { asset_id: string };
  };
  const asset = await withTracks(server, await settled(server, found.data.asset_id));
  const [text] = tracksOf(asset, 'text');
  const dub = tracksOf(asset, 'audio').at(-1)!;
  expect([text!.name, dub.name]).toEqual(['Portuguese', 'Commentaire']);
  for (const { id } of [text!, dub])
    expect((await api(server, 'DELETE', `/video/v1/assets/${asset.id}/tracks/${id}`)).status).toBe(204);
  const left = await withTracks(server, asset);
  expect(left.tracks!.map(({ type }) => type)).toEqual(['video', 'audio']);
  const playlist = await (await fetch(`${playbackOf(left)}.m3u8`)).text();
  expect(playlist).not.toContain('TYPE=SUBTITLES');
  // The file that the deleted audio was a stream of still plays.
  expect((await fetch(`${playbackOf(left)}.m3u8`)).status).toBe(200);
  expect((await api(server, 'DELETE', `/video/v1/assets/${asset.id}`)).status).toBe(204);
});
