import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Mux from '@mux/mux-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeSpeech } from '../../support/media/spoken-audio.mjs';
import { writeWhisperModel } from '../../support/media/whisper-model.mjs';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { filesBelow, processesNaming, until } from '../../support/servers/server-process.js';
import { startSpeechService } from '../../support/servers/speech-service.js';
import { createAsset, getAsset, serveFiles, settled } from '../../support/wire/create-asset.js';
import { eventTypes } from '../../support/wire/events.js';
import { textOf, textsOf } from '../../support/wire/recognized.js';

const RECOGNIZER = fileURLToPath(new URL('../../support/processes/recognizer.mjs', import.meta.url));
const SPOKEN = [
  { startSeconds: 2, endSeconds: 5 },
  { startSeconds: 20, endSeconds: 23 },
];

let folder: string;
let log: string;
let origin: Origin;
let server: Booted;
let mux: Mux;
const connect = ({ url, token }: Booted) =>
  new Mux({ baseURL: url, tokenId: token.id, tokenSecret: token.secret, maxRetries: 0 });
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kinora-premium-captions-'));
  log = join(folder, 'calls');
  const paths = [SPOKEN, []].map((spoken, at) => {
    const path = join(folder, `${at}.wav`);
    writeFileSync(path, makeSpeech(30, spoken));
    return path;
  });
  origin = await serveFiles(paths);
  const command = `${process.execPath} ${RECOGNIZER} ${log} held {audio} {language} {phrases}`;
  server = await boot({ options: { SPEECH_COMMAND: command } });
  mux = connect(server);
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const create = async (on: Booted = server, file = 0) => {
  const { id } = await createAsset(on, { inputs: [{ url: `${origin.url}/${file}` }], playback_policies: ['public'] });
  return settled(on, id);
};
type Parameters = Mux.Robots.Jobs.GeneratePremiumCaptionsJobParameters;
const caption = async (parameters: Parameters, client = mux) => {
  const { generatePremiumCaptions: jobs } = client.robots.jobs;
  const { id } = await jobs.create({ parameters });
  await until('the end of the job', async () => !/^p/.test((await jobs.retrieve(id)).status));
  return jobs.retrieve(id);
};
const calls = () =>
  (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []).map(
    (line) => JSON.parse(line) as { language: string; phrases: string },
  );
const read = async (url: string | undefined) => {
  const answer = await fetch(url!);
  expect(answer.status).toBe(200);
  return answer;
};

test('captions become a track when they are finished, with the phrases that were asked for', async () => {
  const asset = await create();
  const phrases = ['Mots Dits', 'Kinora'];
  const job = await caption({ asset_id: asset.id, phrases, include_words: true });
  expect(job.errors).toBeUndefined();
  expect(job.outputs).toEqual({
    language_code: 'fr',
    detected_language: 'fr',
    auto_language_confidence: 0.75,
    track_id: expect.any(String),
    temporary_srt_url: expect.stringContaining(`${job.id}.srt?`),
    temporary_words_url: expect.stringContaining(`${job.id}.json?`),
  });
  expect(calls()).toMatchObject([{ language: 'auto', phrases: 'Mots Dits, Kinora' }]);
  const tracks = textsOf(await getAsset(server, asset.id));
  expect(tracks).toEqual([
    {
      id: job.outputs!.track_id,
      type: 'text',
      text_type: 'subtitles',
      text_source: 'generated_vod',
      status: 'ready',
      name: 'French (generated)',
      language_code: 'fr',
      auto_language_confidence: 0.75,
      closed_captions: false,
    },
  ]);
  expect(await eventTypes(server, job.outputs!.track_id!)).toEqual(['track.created', 'track.ready']);
  const text = 'trois Mots Dits';
  expect((await textOf(server, asset, tracks[0]!)).match(new RegExp(text, 'g'))).toHaveLength(2);
  expect(await textOf(server, asset, tracks[0]!, 'txt')).toBe(`${text}\n${text}`);
  const srt = await (await read(job.outputs!.temporary_srt_url)).text();
  expect(srt).toMatch(/^1\n00:00:0[12],\d{3} --> 00:00:0[45],\d{3}\ntrois Mots Dits\n\n2\n/);
  const words = await read(job.outputs!.temporary_words_url);
  expect(words.headers.get('content-type')).toBe('application/json; charset=utf-8');
  const { words: spoken } = (await words.json()) as { words: { text: string; start_ms: number; end_ms: number }[] };
  expect(spoken.map((word) => word.text)).toEqual(['trois', 'Mots', 'Dits', 'trois', 'Mots', 'Dits']);
  let before = 1500;
  for (const { start_ms, end_ms } of spoken) {
    expect(start_ms).toBeGreaterThanOrEqual(before);
    expect(end_ms).toBeGreaterThan(start_ms);
    before = end_ms;
  }

  // In its place, and under the code that was asked for.
  await expect(caption({ asset_id: asset.id, language_code: 'fr' })).rejects.toMatchObject({
    error: { error: { message: 'Asset already has a text track in the language fr' } },
  });
  const again = await caption({ asset_id: asset.id });
  expect(again.errors).toEqual([
    { type: 'invalid_input', message: 'Asset already has a text track in the language fr', retryable: false },
  ]);
  const replaced = await caption({
    asset_id: asset.id,
    language_code: 'fr',
    replace_existing: true,
    track_name: 'Mine',
  });
  expect(replaced.outputs).toEqual({
    language_code: 'fr',
    detected_language: 'fr',
    auto_language_confidence: 1,
    track_id: expect.any(String),
    replaced_track_id: job.outputs!.track_id,
    temporary_srt_url: expect.any(String),
  });
  expect(calls().at(-1)).toMatchObject({ language: 'fr', phrases: '' });
  const [mine, ...others] = textsOf(await getAsset(server, asset.id));
  expect([mine, others]).toMatchObject([{ id: replaced.outputs!.track_id, name: 'Mine', language_code: 'fr' }, []]);
});

test('captions without a track leave only their files', async () => {
  const asset = await create();
  const parameters = { asset_id: asset.id, language_code: 'ja-JP', include_words: true, upload_to_mux: false };
  const job = await caption(parameters);
  expect(job.outputs).toEqual({
    language_code: 'ja-JP',
    detected_language: 'ja-JP',
    auto_language_confidence: 1,
    temporary_srt_url: expect.any(String),
    temporary_words_url: expect.any(String),
  });
  expect(calls().at(-1)).toMatchObject({ language: 'ja' });
  expect(textsOf(await getAsset(server, asset.id))).toEqual([]);
  expect(await (await read(job.outputs!.temporary_srt_url)).text()).toContain('trois mots dits');
  await until('the rest is removed', () => {
    const files = filesBelow(`${server.dataDir}/blobs/assets/${asset.id}`);
    return files.every((path) => !path.includes('tracks/') && !path.includes('/steps/'));
  });
});

test('a job that is cancelled takes its program and its files along', async () => {
  const asset = await create();
  writeFileSync(`${log}.hold`, String(calls().length + 1));
  const { generatePremiumCaptions: jobs } = mux.robots.jobs;
  const { id } = await jobs.create({ parameters: { asset_id: asset.id } });
  await until('the program runs', () => processesNaming(log).length > 0);
  await mux.robots.jobs.cancel(id);
  await until('the program has ended', () => processesNaming(log).length === 0);
  await until('the files are gone', () =>
    filesBelow(`${server.dataDir}/blobs/assets/${asset.id}`).every((path) => !path.includes('tracks/')),
  );
  rmSync(`${log}.hold`);
  expect(textsOf(await getAsset(server, asset.id))).toEqual([]);
  expect((await caption({ asset_id: asset.id })).status).toBe('completed');
});

test('what cannot be done is said', async () => {
  const asset = await create();
  await expect(caption({ asset_id: asset.id, include_speakers: true })).rejects.toMatchObject({
    status: 400,
    error: {
      error: {
        type: 'invalid_parameters',
        message: 'parameters.include_speakers is not yet supported by this server',
      },
    },
  });
  const unknown = await caption({ asset_id: asset.id, language_code: 'tlh' });
  expect(unknown.errors).toEqual([
    { type: 'invalid_input', message: 'Speech in the language tlh cannot be recognized.', retryable: false },
  ]);
  const quiet = (await create(server, 1)).id;
  const silence = await caption({ asset_id: quiet });
  expect(silence.errors).toEqual([{ type: 'invalid_input', message: 'No speech was detected.', retryable: false }]);
  await until('nothing is left of the work', () =>
    filesBelow(`${server.dataDir}/blobs/assets/${quiet}`).every((path) => !path.includes('tracks/')),
  );
});

test('a service is given the phrases, and its refusal ends the job', async () => {
  const segments = [{ start: 0.2, end: 3, text: ' three spoken words' }];
  const service = await startSpeechService([
    { status: 200, body: { language: 'english', segments } },
    { status: 401, body: 'no' },
  ]);
  const other = await boot({ options: { SPEECH_URL: `${service.url}/v1` } });
  try {
    const asset = await create(other);
    const parameters = { asset_id: asset.id, phrases: ['Spoken', 'Words Unheard'], upload_to_mux: false };
    const job = await caption(parameters, connect(other));
    expect(await (await read(job.outputs!.temporary_srt_url)).text()).toContain('three Spoken words');
    expect(service.requests[0]!.fields).toMatchObject({ prompt: 'Spoken, Words Unheard' });
    expect((await caption(parameters, connect(other))).errors).toEqual([
      {
        type: 'provider_error',
        message: 'The speech recognition service answered with HTTP status 401.',
        retryable: false,
      },
    ]);
  } finally {
    await other.stop();
    await service.stop();
  }
});

test('the built-in recognizer writes phrases as they are wanted, too', async () => {
  const model = join(folder, 'plumbing.bin');
  writeWhisperModel(model, { words: [' We', ' like', ' kimora', '.'], language: 'en', seconds: 3 });
  const other = await boot({ options: { SPEECH_MODEL: model } });
  try {
    const asset = await create(other);
    const parameters = { asset_id: asset.id, phrases: ['Kinora'], include_words: true, upload_to_mux: false };
    const { errors, outputs } = await caption(parameters, connect(other));
    expect(errors).toBeUndefined();
    expect(outputs).toMatchObject({ language_code: 'en', detected_language: 'en' });
    expect(await (await read(outputs!.temporary_srt_url)).text()).toContain('We like Kinora.');
    const { words } = (await (await read(outputs!.temporary_words_url)).json()) as { words: { text: string }[] };
    expect(words.map(({ text }) => text)).toContain('Kinora.');
  } finally {
    await other.stop();
  }
});
