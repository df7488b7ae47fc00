import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import Mux from '@mux/mux-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { type Script, startChatProvider } from '../../support/servers/chat-provider.js';
import { until } from '../../support/servers/server-process.js';
import { type SlowOrigin, startSlowOrigin } from '../../support/servers/slow-origin.js';
import { createAsset, settled } from '../../support/wire/create-asset.js';
import { eventTypes } from '../../support/wire/events.js';

let server: Booted;
/** Waits for an answer for only a few seconds. */
let hurried: Booted;
let origin: SlowOrigin;
let provider: Awaited<ReturnType<typeof startChatProvider>>;
let script: Script;

beforeAll(async () => {
  origin = await startSlowOrigin();
  origin.add('video.mp4', await readFile(await fixture('h264-aac.mp4')));
  origin.add('en.vtt', Buffer.from('WEBVTT\n\n00:00.000 --> 00:01.000\nHello harbour\n'));
  provider = await startChatProvider(() => script);
  const options = { AI_URL: provider.url, AI_MODEL: 'reader' };
  [server, hurried] = await Promise.all([
    boot({ options, chat: { retryDelayMs: 1 } }),
    boot({ options, chat: { limitMs: 3000, retryDelayMs: 1 } }),
  ]);
});
afterAll(async () => {
  await hurried?.stop();
  await server?.stop();
  await provider?.stop();
  await origin?.stop();
});

const assets = new Map<Booted, string>();
const assetOf = async (on: Booted): Promise<string> => {
  const text = { type: 'text', text_type: 'subtitles', language_code: 'en', name: 'English' };
  const inputs = [{ url: `${origin.url}/video.mp4` }, { url: `${origin.url}/en.vtt`, ...text }];
  const id = assets.get(on) ?? (await settled(on, (await createAsset(on, { inputs })).id)).id;
  assets.set(on, id);
  return id;
};

const answer = (body: string) => (response: ServerResponse) => void response.end(body);
const flood = (response: ServerResponse) => {
  const more = () => void response.write('x'.repeat(2 ** 20), (error) => error ?? more());
  more();
};
const LATE = 'The provider did not answer in time.';
const NO_FORM = 'The provider did not answer in the requested format.';

test.each<[string, Script, string, number]>([
  ['refuses', { status: 400 }, 'The provider answered with status 400.', 1],
  ['does not know the key', { status: 401 }, 'The provider answered with status 401.', 1],
  [
    'leads elsewhere',
    { status: 302, headers: { location: '/elsewhere' } },
    'The provider answered with status 302.',
    1,
  ],
  ['fails', { status: 500 }, 'The provider answered with status 500.', 3],
  ['is busy for ever', { status: 429, headers: { 'retry-after': '0' } }, 'The provider answered with status 429.', 3],
  ['is silent', 'silent', LATE, 3],
  ['stops in the middle', (response) => void response.write('{'), LATE, 3],
  ['hangs up', (response) => void response.destroy(), 'The provider could not be reached.', 3],
  ['never ends', flood, 'The answer of the provider is too large.', 1],
  ['answers with a page', answer('<html>'), 'The provider did not answer with JSON.', 1],
  ['answers with null', answer('null'), 'The answer of the provider has no text.', 1],
  ['answers without a choice', answer('{"choices":[]}'), 'The answer of the provider has no text.', 1],
  [
    'answers without text',
    answer('{"choices":[{"message":{"content":null}}]}'),
    'The answer of the provider has no text.',
    1,
  ],
  ['writes no JSON', 'I cannot do that.', NO_FORM, 2],
  ['writes half of it', '{"title":"A","description"', NO_FORM, 2],
  ['writes another form', { title: 7, description: [], tags: 'x' }, NO_FORM, 2],
  ['thinks and never speaks', `<think>${'hm '.repeat(50_000)}`, NO_FORM, 2],
])('a job ends when the provider %s', async (_, said, message, questions) => {
  script = said;
  provider.asked.length = 0;
  const asked = message === LATE ? hurried : server;
  const { id: tokenId, secret: tokenSecret } = asked.token;
  const { summarize } = new Mux({ baseURL: asked.url, tokenId, tokenSecret, maxRetries: 0 }).robots.jobs;
  const { id } = await summarize.create({ parameters: { asset_id: await assetOf(asked) } });
  await until('the end of the job', async () => (await summarize.retrieve(id)).status === 'errored');
  const job = await summarize.retrieve(id);
  expect(job.errors).toEqual([{ type: 'provider_error', message, retryable: true }]);
  expect(job).not.toHaveProperty('outputs');
  expect(provider.asked).toHaveLength(questions);
  expect(await eventTypes(asked, id)).toEqual(
    ['pending', 'processing', 'errored'].map((status) => `robots.job.summarize.${status}`),
  );
});
