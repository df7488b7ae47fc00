import { readFile } from 'node:fs/promises';
import Mux from '@mux/mux-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GENERATION } from '#kinora/media/plan/generation.js';
import { fixture } from '../../support/media/fixtures.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { until } from '../../support/servers/server-process.js';
import { readCues, type Served, serveNamed } from '../../support/servers/text-origin.js';
import { api, createAsset, getAsset, settled, type WireAsset } from '../../support/wire/create-asset.js';
import { sendBytes } from '../../support/wire/uploading.js';

const SRT = `1
00:00:01,000 --> 00:00:02,500
<font color="#fff">Guten</font> <b>Tag</b>

2
00:00:03,000 --> 00:00:09,000
{\\an8}über zwei Grenzen

3
00:00:18,000 --> 00:00:25,000
bis zum Ende

4
00:01:00,000 --> 00:01:01,000
zu spät
`;
const VTT = 'WEBVTT\n\nNOTE none\n\nid\n00:05.000 --> 00:06.000 align:start\n<v Ann>Hello\n';

let server: Booted;
let origin: Origin;
let mux: Mux;
const files: Record<string, Served> = {
  'de.srt': { text: SRT },
  'en.vtt': { text: VTT },
  'utf16.srt': { text: Buffer.from(`\uFEFF${SRT}`, 'utf16le') },
  'latin.srt': { text: Buffer.from(SRT, 'latin1') },
  'none.vtt': { text: 'WEBVTT\n\n' },
  'bad.srt': { text: '<html>not found</html>' },
  'empty.srt': { text: '' },
  'large.srt': { text: Buffer.alloc(11 * 2 ** 20, 'x') },
  // Never answers.
  'silent.srt': () => undefined,
};

beforeAll(async () => {
  files['long.mp4'] = { path: await fixture('long.mp4') };
  files['video.mp4'] = { path: await fixture('h264-aac.mp4') };
  files['audio.m4a'] = { path: await fixture('audio-only.m4a') };
  origin = await serveNamed(files);
  server = await boot();
  mux = new Mux({ baseURL: server.url, tokenId: server.token.id, tokenSecret: server.token.secret, maxRetries: 0 });
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
});

const url = (name: string) => `${origin.url}/${name}`;
const text = (name: string, more: object = {}) => ({
  url: url(name),
  type: 'text',
  text_type: 'subtitles',
  language_code: 'de',
  ...more,
});
const make = async (source: string, inputs: object[] = [], more: object = {}) => {
  const asset = await createAsset(server, {
    inputs: [{ url: url(source) }, ...inputs],
    playback_policies: ['public'],
    ...more,
  });
  const ready = await settled(server, asset.id);
  expect(ready.errors).toBeUndefined();
  return ready;
};
const textTracks = (asset: WireAsset) => asset.tracks!.filter(({ type }) => type === 'text');
/** The text tracks once none of them is preparing. */
const finished = async (assetId: string) => {
  await until('no track is preparing', async () =>
    textTracks(await getAsset(server, assetId)).every(({ status }) => status !== 'preparing'),
  );
  return textTracks(await getAsset(server, assetId));
};
const playbackOf = (asset: WireAsset) => `${server.url}/${asset.playback_ids![0]!.id}`;
const fetchText = async (address: string): Promise<string> => {
  const response = await fetch(address);
  if (response.status !== 200) throw new Error(`${response.status} ${address}`);
  return response.text();
};
const eventsOf = async (objectId: string): Promise<{ type: string; data: Record<string, unknown> }[]> => {
  const response = await api(server, 'GET', `/system/v1/events?object_id=${objectId}`);
  return ((await response.json()) as { data: { type: string; data: Record<string, unknown> }[] }).data.reverse();
};
/** Types of everything that happened to an asset and its tracks, in order. */
const happened = async (assetId: string) => {
  const response = await api(server, 'GET', '/system/v1/events?limit=100');
  const { data } = (await response.json()) as { data: { type: string; data: Record<string, unknown> }[] };
  return data
    .filter(({ data: { id, asset_id } }) => id === assetId || asset_id === assetId)
    .map(({ type }) => type.replace('video.asset.', ''))
    .reverse();
};
/** The WebVTT segments of the first subtitle rendition of a multivariant playlist. */
const segmentsOf = async (playlistUrl: string) => {
  const multivariant = await fetchText(playlistUrl);
  const uri = /#EXT-X-MEDIA:TYPE=SUBTITLES.*URI="([^"]+)"/.exec(multivariant)![1]!;
  const address = new URL(uri, playlistUrl).href;
  const lines = (await fetchText(address)).trimEnd().split('\n');
  const names = lines.filter((line) => !line.startsWith('#'));
  const texts = await Promise.all(names.map((name) => fetchText(new URL(name, address).href)));
  return { multivariant, address, lines, names, texts };
};

test('subtitles of the creation request are there when the asset is ready, cut like the video', async () => {
  const asset = await make('long.mp4', [
    text('de.srt', { name: 'Deutsch', closed_captions: true, passthrough: 'cms-9' }),
    text('en.vtt', { language_code: 'en-US' }),
  ]);
  const [german, english] = textTracks(asset);
  expect(german).toEqual({
    id: expect.stringMatching(/^[A-Za-z0-9]{40}$/),
    type: 'text',
    status: 'ready',
    text_type: 'subtitles',
    text_source: 'uploaded',
    name: 'Deutsch',
    language_code: 'de',
    closed_captions: true,
    passthrough: 'cms-9',
  });
  expect(english).toMatchObject({ name: 'English (United States)', closed_captions: false, status: 'ready' });
  expect(asset.tracks!.map(({ type }) => type)).toEqual(['video', 'audio', 'text', 'text']);
  expect(await happened(asset.id)).toEqual([
    'created',
    'track.created',
    'track.ready',
    'track.created',
    'track.ready',
    'ready',
  ]);
  const [created, ready] = await eventsOf(german!.id as string);
  expect(created!.data).toEqual({ ...german, status: 'preparing', asset_id: asset.id });
  expect(ready!.data).toEqual({ ...german, asset_id: asset.id });

  const whole = await fetchText(`${playbackOf(asset)}/text/${german!.id}.vtt`);
  expect(whole).toBe(`WEBVTT

00:00:01.000 --> 00:00:02.500
Guten <b>Tag</b>

00:00:03.000 --> 00:00:09.000
über zwei Grenzen

00:00:18.000 --> 00:00:20.000
bis zum Ende
`);
  const { multivariant, lines, texts } = await segmentsOf(`${playbackOf(asset)}.m3u8`);
  expect(multivariant).toMatch(
    /TYPE=SUBTITLES,GROUP-ID="sub",NAME="Deutsch",LANGUAGE="de",DEFAULT=NO,AUTOSELECT=YES,FORCED=NO,CHARACTERISTICS="public.accessibility.transcribes-spoken-dialog,public.accessibility.describes-music-and-sound",URI=/,
  );
  expect(multivariant).toMatch(
    /NAME="English \(United States\)",LANGUAGE="en-US",DEFAULT=NO,AUTOSELECT=YES,FORCED=NO,URI=/,
  );
  for (const line of multivariant.split('\n').filter((line) => line.startsWith('#EXT-X-STREAM-INF')))
    expect(line).toContain('SUBTITLES="sub"');
  const variant = new URL(multivariant.split('\n').find((line) => /^[^#]/.test(line))!, `${playbackOf(asset)}.m3u8`);
  const media = (await fetchText(variant.href)).trimEnd().split('\n');
  const shape = (of: string[]) => of.filter((line) => /^#/.test(line) && !line.startsWith('#EXT-X-MAP'));
  expect(shape(lines)).toEqual(shape(media));
  expect(lines.some((line) => line.startsWith('#EXT-X-MAP'))).toBe(false);
  expect(texts.every((part) => part.startsWith('WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:00.000\n'))).toBe(true);
  expect(texts.map((part) => readCues(part).map((cue) => [cue.startSeconds, cue.endSeconds]))).toEqual([
    [[1, 2.5]],
    [
      [1, 2.5],
      [3, 9],
    ],
    [[3, 9]],
    [[3, 9]],
    [],
    [[18, 20]],
  ]);
  const info = (await (await api(server, 'GET', `/video/v1/assets/${asset.id}/input-info`)).json()) as {
    data: { settings: object; file: object }[];
  };
  expect(info.data.slice(1).map(({ file }) => file)).toEqual([
    { container_format: 'srt', tracks: [{ type: 'text' }] },
    { container_format: 'webvtt', tracks: [{ type: 'text' }] },
  ]);
  expect(info.data[1]!.settings).toEqual(
    text('de.srt', { name: 'Deutsch', closed_captions: true, passthrough: 'cms-9' }),
  );

  const part = await segmentsOf(`${playbackOf(asset)}.m3u8?asset_start_time=9&asset_end_time=19`);
  expect(part.names).toEqual(['3.vtt', '4.vtt', '5.vtt']);
  expect(part.texts.map((segment) => readCues(segment).length)).toEqual([1, 0, 1]);
  const cut = await fetchText(`${playbackOf(asset)}/text/${german!.id}.vtt?asset_start_time=9&asset_end_time=19`);
  expect(readCues(cut).map((cue) => [cue.startSeconds, cue.endSeconds])).toEqual([
    [0, 1],
    [10, 12],
  ]);
  const language = await fetchText(`${playbackOf(asset)}.m3u8?default_subtitles_lang=en`);
  expect(/LANGUAGE="([^"]+)",DEFAULT=YES,AUTOSELECT=YES,FORCED/.exec(language)?.[1]).toBe('en-US');
});

test('of an asset of audio alone the subtitles are cut like the audio', async () => {
  const asset = await make('audio.m4a', [text('utf16.srt')]);
  const { lines, texts } = await segmentsOf(`${playbackOf(asset)}.m3u8`);
  expect(texts).toHaveLength(3);
  expect(texts.map((part) => readCues(part).map((cue) => cue.text))).toEqual([
    ['Guten <b>Tag</b>', 'über zwei Grenzen'],
    ['über zwei Grenzen'],
    ['über zwei Grenzen'],
  ]);
  const audio = (await fetchText(new URL('audio/playlist.m3u8', `${playbackOf(asset)}/${GENERATION}/`).href)).split(
    '\n',
  );
  const durations = (of: string[]) => of.filter((line) => line.startsWith('#EXTINF'));
  expect(durations(lines)).toEqual(durations(audio));
});

test('a track that fails leaves the asset and the other tracks alone', async () => {
  const asset = await make('video.mp4', [
    text('gone.srt', { name: 'a' }),
    text('none.vtt', { name: 'b' }),
    text('bad.srt', { name: 'c' }),
    text('empty.srt', { name: 'd' }),
    text('large.srt', { name: 'e' }),
    text('latin.srt', { name: 'f' }),
  ]);
  const tracks = await finished(asset.id);
  const reasons = await Promise.all(
    tracks.map(async ({ id, status }) => {
      const last = (await eventsOf(id as string)).at(-1)!;
      return [status, last.type.split('.').at(-1), last.data.error];
    }),
  );
  const failed = (message: string) => ['errored', 'errored', { type: 'invalid_input', messages: [message] }];
  expect(reasons).toEqual([
    failed('The input file could not be downloaded: HTTP status 404.'),
    failed('The text file could not be parsed.'),
    failed('The text file could not be parsed.'),
    failed('The input file is empty.'),
    failed('The input file is larger than the maximum size of 10 MiB.'),
    ['ready', 'ready', undefined],
  ]);
  const playlist = await fetchText(`${playbackOf(asset)}.m3u8`);
  expect(playlist.match(/TYPE=SUBTITLES/g)).toHaveLength(1);
  expect((await fetch(`${playbackOf(asset)}/text/${tracks[0]!.id}.vtt`)).status).toBe(404);
  expect(await fetchText(`${playbackOf(asset)}/text/${tracks[5]!.id}.vtt`)).toContain('über zwei Grenzen');
});

test('a server of subtitles that does not answer delays nothing else; deletion stops the wait', async () => {
  const asset = await make('video.mp4', [text('silent.srt', { name: 'a' }), text('en.vtt', { name: 'b' })]);
  expect(textTracks(asset).map(({ status }) => status)).toEqual(['preparing', 'ready']);
  const clip = await createAsset(server, { inputs: [{ url: `mux://assets/${asset.id}`, start_time: 0, end_time: 2 }] });
  expect(textTracks(await settled(server, clip.id))).toMatchObject([{ name: 'b' }]);
  const warnings = (await eventsOf(clip.id)).filter(({ type }) => type === 'video.asset.warning');
  const message = 'The clip lacks tracks that were not ready in its source: a. Create the clip again when they are.';
  expect(warnings.map(({ data }) => data.warning)).toEqual([{ type: 'tracks_missing', message }]);
  await mux.video.assets.deleteTrack(asset.id, textTracks(asset)[0]!.id as string);
  expect(textTracks(await getAsset(server, asset.id)).map(({ name }) => name)).toEqual(['b']);
  const events = await eventsOf(textTracks(asset)[0]!.id as string);
  expect(events.map(({ type }) => type)).toEqual(['video.asset.track.created', 'video.asset.track.deleted']);
  expect(events[1]!.data.status).toBe('deleted');
});

test('a track is added, changed and removed, and playlists show it at once', async () => {
  const asset = await make('video.mp4');
  const playlist = () => fetchText(`${playbackOf(asset)}.m3u8`);
  expect(await playlist()).not.toContain('SUBTITLES');
  const track = await mux.video.assets.createTrack(asset.id, {
    url: url('de.srt'),
    type: 'text',
    text_type: 'subtitles',
    language_code: 'de',
    passthrough: 'cms-10',
  });
  expect(track).toMatchObject({ status: 'preparing', name: 'German', text_source: 'uploaded', passthrough: 'cms-10' });
  const [ready] = await finished(asset.id);
  expect(ready).toEqual({ ...track, status: 'ready' });
  expect(await playlist()).toContain('NAME="German"');
  const address = `${playbackOf(asset)}/text/${track.id}.vtt`;
  const response = await fetch(address);
  expect(response.headers.get('content-type')).toBe('text/vtt; charset=utf-8');
  expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  const etag = response.headers.get('etag')!;
  expect((await fetch(address, { headers: { 'if-none-match': etag } })).status).toBe(304);
  expect((await fetch(`${playbackOf(asset)}/text/${track.id}.txt`)).status).toBe(404);
  const part = await fetch(address, { headers: { range: 'bytes=0-5' } });
  expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([
    206,
    expect.stringMatching(/^bytes 0-5\/\d{3}$/),
    'WEBVTT',
  ]);
  expect((await fetch(address, { headers: { range: 'bytes=9999-' } })).status).toBe(416);

  // The SDK has no call for it.
  const patch = (body: object) => api(server, 'PATCH', `/video/v1/assets/${asset.id}/tracks/${track.id}`, body);
  const changes = { name: 'Deutsch', language_code: 'de-AT', closed_captions: true, passthrough: '' };
  const changed = ((await (await patch(changes)).json()) as { data: object }).data;
  const { passthrough: _, ...rest } = ready!;
  expect(changed).toEqual({ ...rest, name: 'Deutsch', language_code: 'de-AT', closed_captions: true });
  expect(await playlist()).toMatch(/NAME="Deutsch",LANGUAGE="de-AT",.*CHARACTERISTICS=/);
  expect((await patch({})).status).toBe(200);
  expect((await happened(asset.id)).slice(2)).toEqual(['track.created', 'track.ready', 'updated']);

  await mux.video.assets.deleteTrack(asset.id, track.id!);
  expect(await playlist()).not.toContain('SUBTITLES');
  expect((await fetch(address)).status).toBe(404);
  await expect(mux.video.assets.deleteTrack(asset.id, track.id!)).rejects.toMatchObject({ status: 404 });
});

test('subtitles that a direct upload names first come beside the uploaded file', async () => {
  const upload = await mux.video.uploads.create({
    cors_origin: '*',
    new_asset_settings: { inputs: [text('de.srt', { language_code: 'de' }) as never], playback_policies: ['public'] },
  });
  const { path } = files['video.mp4'] as { path: string };
  expect((await sendBytes(upload.url!, await readFile(path))).status).toBe(200);
  const { asset_id: assetId } = await mux.video.uploads.retrieve(upload.id);
  expect((await settled(server, assetId!)).status).toBe('ready');
  expect(await finished(assetId!)).toMatchObject([{ type: 'text', status: 'ready', language_code: 'de' }]);
  const info = await mux.video.assets.retrieveInputInfo(assetId!);
  expect(info.map(({ settings }) => settings)).toEqual([{}, text('de.srt')]);
});
