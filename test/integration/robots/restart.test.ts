import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { makeSpeech } from '../../support/media/spoken-audio.mjs';
import { type Asked, startChatProvider } from '../../support/servers/chat-provider.js';
import {
  cleanUpServers,
  filesBelow,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { type SlowOrigin, startSlowOrigin } from '../../support/servers/slow-origin.js';
import { api, createAsset, getAsset, settled } from '../../support/wire/create-asset.js';
import { eventsOf, eventTypes } from '../../support/wire/events.js';

/** Long enough for three windows. */
const LINES = Array.from({ length: 500 }, (_, at) => `${String(at).padStart(4, '0')} ${'word '.repeat(18)}`);
const stamp = (at: number) =>
  `00:00:${String(Math.floor(at / 100)).padStart(2, '0')}.${String((at % 100) * 10).padStart(3, '0')}`;
const CAPTIONS = `WEBVTT\n\n${LINES.map((line, at) => `${stamp(at)} --> ${stamp(at + 1)}\n${line}\n`).join('\n')}`;

let server: ServerProcess;
let origin: SlowOrigin;
let provider: Awaited<ReturnType<typeof startChatProvider>>;
/** Numbers of questions at which the server is killed. */
const kills: number[] = [];
const dataDir = makeDataDir();
const RECOGNIZER = fileURLToPath(new URL('../../support/processes/recognizer.mjs', import.meta.url));
/** What the recognizer was called with. The first call hangs. */
const log = join(dirname(dataDir), 'calls');
/** The file exists a moment before its first line. */
const countCalls = () => (existsSync(log) ? readFileSync(log, 'utf8').split('\n').length - 1 : 0);
const start = async () => {
  const command = `${process.execPath} ${RECOGNIZER} ${log} held {audio} {language}`;
  const options = { AI_URL: provider.url, AI_MODEL: 'small', SPEECH_COMMAND: command };
  server = await startServer({ dataDir, options });
};
const answer = ({ prompt, text }: Asked) => {
  if (kills.includes(provider.asked.length)) return 'silent';
  if (prompt === 'summarize') return { title: 'T', description: 'D', tags: ['a'] };
  const numbers = [...text.slice(text.lastIndexOf('Lines:')).matchAll(/^(\d+): /gm)].map(([, number]) =>
    Number(number),
  );
  return { lines: numbers.map((number) => ({ number, text: `ligne ${number}` })) };
};
beforeAll(async () => {
  origin = await startSlowOrigin();
  origin.add('video.mp4', await readFile(await fixture('h264-aac.mp4')));
  origin.add('en.vtt', Buffer.from(CAPTIONS));
  origin.add('spoken.wav', makeSpeech(5, [{ startSeconds: 1, endSeconds: 3 }]));
  writeFileSync(`${log}.hold`, '1');
  provider = await startChatProvider(answer);
  await start();
});
afterAll(async () => {
  await cleanUpServers();
  await provider?.stop();
  await origin?.stop();
});

const call = async (method: string, path: string, body?: unknown) => {
  const response = await api(server, method, path, body);
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
  return JSON.parse(text).data;
};

test('a run goes on after a server that is killed at every step, and does nothing twice', async () => {
  const directive = await call('POST', '/robots/v0/directives', {
    name: 'All',
    subject: { type: 'video.asset' },
    resources: [
      {
        reference_id: 'en',
        type: 'video.asset.track',
        kind: 'caption',
        source: {
          via: 'mux_api',
          action: 'create_track',
          params: { type: 'text', url: `${origin.url}/en.vtt`, language_code: 'en' },
        },
      },
      {
        reference_id: 'dub',
        type: 'video.asset.track',
        kind: 'audio',
        source: {
          via: 'mux_api',
          action: 'create_track',
          params: { type: 'audio', url: `${origin.url}/spoken.wav`, language_code: 'es' },
        },
      },
      {
        reference_id: 'es',
        type: 'video.asset.track',
        kind: 'caption',
        source: { via: 'workflow', binding: 'captions' },
      },
      {
        reference_id: 'fr',
        type: 'video.asset.track',
        kind: 'caption',
        source: { via: 'workflow', binding: 'translate' },
      },
    ],
    workflows: [
      { reference_id: 'poster', workflow: 'find-best-thumbnails', params: { update_asset_thumbnail: true } },
      {
        reference_id: 'captions',
        workflow: 'generate-premium-captions',
        inputs: ['dub'],
        params: { language_code: 'es' },
      },
      { reference_id: 'sum', workflow: 'summarize', inputs: ['es'] },
      { reference_id: 'translate', workflow: 'translate-captions', inputs: ['en'], params: { to_language_code: 'fr' } },
      { reference_id: 'sum2', workflow: 'summarize', inputs: ['fr'], params: { update_asset_meta: true } },
    ],
  });
  kills.push(1);
  const { id } = await createAsset(server, {
    inputs: [{ url: `${origin.url}/video.mp4` }],
    directives: [{ id: directive.id }],
  });
  await settled(server, id);
  const runs = `/robots/v0/directives/${directive.id}/runs`;
  const [{ run_id: runId }] = await call('GET', runs);
  // In the middle of a question to the model and of the recognition of speech, and then of further
  // questions.
  await until('the first question and the first call', () => provider.asked.length === 1 && countCalls() === 1);
  await server.kill();
  kills.length = 0;
  await start();
  for (const number of [4, 9]) {
    kills.push(number, number + 1);
    await until(`question ${number}`, () => provider.asked.length >= number);
    // Recognition is killed only once, so that its calls can be counted.
    await until('the recognized captions', async () =>
      (await getAsset(server, id)).tracks!.some(({ type, language_code }) => type === 'text' && language_code === 'es'),
    );
    await server.kill();
    kills.length = 0;
    await start();
  }
  await until('the end of the run', async () => (await call('GET', `${runs}/${runId}`)).completed_at !== null).catch(
    async (error) => {
      const messages = server.log().filter(({ msg }) => msg !== 'request');
      throw new Error(JSON.stringify([await call('GET', `${runs}/${runId}`), messages], undefined, 1), {
        cause: error,
      });
    },
  );
  await server.kill();
  await start();

  const run = await call('GET', `${runs}/${runId}`);
  expect(run.status).toBe('completed');
  const asset = await getAsset(server, id);
  expect(asset.meta).toEqual({ title: 'T' });
  expect(
    asset
      .tracks!.filter(({ type }) => type === 'text')
      .map(({ language_code, status }) => [language_code, status])
      .sort(),
  ).toEqual([
    ['en', 'ready'],
    ['es', 'ready'],
    ['fr', 'ready'],
  ]);
  const made = asset.tracks!.filter(({ type, language_code }) => type === 'text' || language_code === 'es');
  expect(made).toHaveLength(4);
  for (const { id: trackId } of made)
    expect(await eventTypes(server, trackId as string)).toEqual(['track.created', 'track.ready']);
  // The thumbnail and the title.
  expect((await eventTypes(server, id)).filter((type) => type === 'updated')).toHaveLength(2);
  expect(countCalls()).toBe(2);
  expect(run.node_states).toHaveLength(5);
  expect(filesBelow(dataDir).filter((path) => path.includes('/speech/'))).toEqual([]);
  for (const { job_id: jobId } of run.node_states as { job_id: string }[]) {
    const types = (await eventsOf(server, jobId)).map(({ type }) => type.split('.').at(-1));
    expect(types).toEqual(['pending', 'processing', 'completed']);
    expect(
      filesBelow(`${dataDir}/blobs/assets/${id}/robots/${jobId}`).filter((name) => name.startsWith('steps/')),
    ).toEqual([]);
  }
  expect((await eventsOf(server, runId)).map(({ type }) => type)).toEqual([
    'robots.directive_run.created',
    'robots.directive_run.completed',
  ]);
  // A question that was answered before a kill is not asked again.
  const translated = provider.asked.filter(({ prompt }) => prompt === 'translate_captions').map(({ text }) => text);
  expect(translated.length - new Set(translated).size).toBeLessThanOrEqual(4);
  expect(new Set(translated).size).toBe(Math.ceil(LINES.length / 40));
});
