import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeSpeech } from '../../support/media/spoken-audio.mjs';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { until } from '../../support/servers/server-process.js';
import { api, createAsset, serveFiles, type WireAsset } from '../../support/wire/create-asset.js';
import { eventTypes } from '../../support/wire/events.js';
import { recognized, textOf, textsOf } from '../../support/wire/recognized.js';

const RECOGNIZER = fileURLToPath(new URL('../../support/processes/recognizer.mjs', import.meta.url));

let folder: string;
let origin: Origin;
let server: Booted;
let talk: Buffer;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kinora-speech-tracks-'));
  talk = makeSpeech(30, [
    { startSeconds: 2, endSeconds: 5 },
    { startSeconds: 20, endSeconds: 23 },
  ]);
  const dub = makeSpeech(30, [{ startSeconds: 10, endSeconds: 13 }]);
  const paths = [talk, dub].map((bytes, at) => {
    const path = join(folder, `${at}.wav`);
    writeFileSync(path, bytes);
    return path;
  });
  origin = await serveFiles(paths);
  const command = `${process.execPath} ${RECOGNIZER} ${join(folder, 'calls')} json {audio} {language}`;
  server = await boot({ options: { SPEECH_COMMAND: command } });
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const create = async (inputs: readonly object[]): Promise<WireAsset> =>
  recognized(server, (await createAsset(server, { inputs, playback_policies: ['public'] })).id);
const audioOf = (asset: WireAsset, name: string) =>
  asset.tracks!.find((track) => track.type === 'audio' && track.name === name)!.id as string;
/** Whole seconds at which the cues of a track begin, and their text. */
const cuesOf = async (asset: WireAsset, name: string): Promise<[number, string][]> => {
  const track = textsOf(asset).find((candidate) => candidate.name === name);
  expect(track).toMatchObject({ status: 'ready', text_source: 'generated_vod' });
  const text = await textOf(server, asset, track!);
  return [...text.matchAll(/^00:00:(\S+) --> .*\n(.+)/gm)].map(([, start, cue]) => [Math.round(Number(start)), cue!]);
};
const WORDS = 'trois mots dits';
const MAIN: [number, string][] = [
  [2, WORDS],
  [20, WORDS],
];

test('each input is heard by itself, and audio tracks that come later too', async () => {
  let asset = await create([
    { url: `${origin.url}/0`, generated_subtitles: [{ language_code: 'fr', name: 'Main' }] },
    {
      url: `${origin.url}/1`,
      type: 'audio',
      language_code: 'es',
      name: 'Dub',
      generated_subtitles: [{ language_code: 'es', name: 'Of the dub', passthrough: 'p' }],
    },
  ]);
  expect(await cuesOf(asset, 'Main')).toEqual(MAIN);
  expect(await cuesOf(asset, 'Of the dub')).toEqual([[10, WORDS]]);
  expect(textsOf(asset)[1]).toMatchObject({ language_code: 'es', passthrough: 'p' });

  const path = `/video/v1/assets/${asset.id}/tracks`;
  const later = { url: `${origin.url}/1`, type: 'audio', language_code: 'it', name: 'Later' };
  expect((await api(server, 'POST', path, later)).status).toBe(201);
  asset = await recognized(server, asset.id);
  await until('the audio track is ready', async () => {
    asset = await recognized(server, asset.id);
    return asset.tracks!.every(({ status }) => status !== 'preparing');
  });
  for (const [audio, name] of [
    ['Later', 'Asked later'],
    ['Default', 'Again'],
  ] as const) {
    const body = { generated_subtitles: [{ language_code: 'auto', name }] };
    const response = await api(server, 'POST', `${path}/${audioOf(asset, audio)}/generate-subtitles`, body);
    expect(response.status).toBe(201);
  }
  asset = await recognized(server, asset.id);
  expect(await cuesOf(asset, 'Asked later')).toEqual([[10, WORDS]]);
  expect(await cuesOf(asset, 'Again')).toEqual(MAIN);
  const made = textsOf(asset).find(({ name }) => name === 'Again')!;
  expect(made).toMatchObject({ language_code: 'fr', auto_language_confidence: 0.75 });
  expect(await eventTypes(server, made.id as string)).toEqual(['track.created', 'track.ready']);
});

test('a clip has the words that are said in it', async () => {
  const source = await create([{ url: `${origin.url}/0`, generated_subtitles: [{ language_code: 'auto' }] }]);
  const calls = () => readFileSync(join(folder, 'calls'), 'utf8').length;
  const before = calls();
  // The words of three seconds take 1.15, 0.92 and 0.92 of them.
  const clip = await create([{ url: `mux://assets/${source.id}`, start_time: 3.2, end_time: 22.2 }]);
  expect(await cuesOf(clip, 'Auto-detected')).toEqual([
    [0, 'mots dits'],
    [17, 'trois mots'],
  ]);
  expect(textsOf(clip)[0]).toMatchObject({ language_code: 'fr', auto_language_confidence: 0.75 });
  const again = await create([{ url: `mux://assets/${clip.id}`, start_time: 10 }]);
  expect(await cuesOf(again, 'Auto-detected')).toEqual([[7, 'trois mots']]);
  expect(calls()).toBe(before);
});

test('an upload asks for it in its settings', async () => {
  const response = await api(server, 'POST', '/video/v1/uploads', {
    new_asset_settings: {
      playback_policies: ['public'],
      inputs: [{ generated_subtitles: [{ language_code: 'fr', name: 'Main' }] }],
    },
  });
  const { data } = (await response.json()) as { data: { id: string; url: string } };
  expect((await fetch(data.url, { method: 'PUT', body: new Uint8Array(talk) })).status).toBe(200);
  let assetId: string | undefined;
  await until('the asset is there', async () => {
    const upload = await (await api(server, 'GET', `/video/v1/uploads/${data.id}`)).json();
    assetId = (upload as { data: { asset_id?: string } }).data.asset_id;
    return assetId !== undefined;
  });
  expect(await cuesOf(await recognized(server, assetId!), 'Main')).toEqual(MAIN);
});

test('a transcript is there of generated text only', async () => {
  const vtt = join(folder, 'own.vtt');
  writeFileSync(vtt, 'WEBVTT\n\n00:01.000 --> 00:02.000\nown\n');
  const served = await serveFiles([vtt]);
  const own = { url: `${served.url}/0`, type: 'text', text_type: 'subtitles', language_code: 'en', name: 'Own' };
  const asset = await create([{ url: `${origin.url}/0` }, own]);
  await served.stop();
  const track = textsOf(asset)[0]!;
  const response = await fetch(`${server.url}/${asset.playback_ids![0]!.id}/text/${track.id}.txt`);
  expect([response.status, await response.json()]).toEqual([404, { code: 5, message: 'Not Found' }]);
});
