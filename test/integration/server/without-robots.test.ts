import { readFile, rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { type Script, startChatProvider } from '../../support/servers/chat-provider.js';
import { makeTestDataDir } from '../../support/servers/database.js';
import { until } from '../../support/servers/server-process.js';
import { type SlowOrigin, startSlowOrigin } from '../../support/servers/slow-origin.js';
import { api, createAsset, settled } from '../../support/wire/create-asset.js';
import { expectError } from '../../support/wire/expect-error.js';

const text = { type: 'text', text_type: 'subtitles', language_code: 'en', name: 'English' };

let dataDir: string;
let origin: SlowOrigin;
let script: Script = 'silent';
let provider: Awaited<ReturnType<typeof startChatProvider>>;
let server: Booted;
const restart = async (overrides: Parameters<typeof boot>[0] = {}) => {
  const { token } = server ?? {};
  await server?.stop();
  server = await boot({ dataDir, token, options: { AI_URL: provider.url, AI_MODEL: 'small' }, ...overrides });
};
const create = () =>
  createAsset(server, {
    inputs: [{ url: `${origin.url}/video.mp4` }, { url: `${origin.url}/en.vtt`, ...text }],
    playback_policies: ['public'],
  });
const statusOf = async (jobId: string) =>
  (await (await api(server, 'GET', `/robots/v0/jobs/summarize/${jobId}`)).json()).data.status;

beforeAll(async () => {
  dataDir = await makeTestDataDir();
  origin = await startSlowOrigin();
  origin.add('video.mp4', await readFile(await fixture('h264-aac.mp4')));
  origin.add('en.vtt', Buffer.from('WEBVTT\n\n00:00.000 --> 00:01.000\nHello harbour\n'));
  provider = await startChatProvider(() => script);
});
afterAll(async () => {
  await server?.stop();
  await provider?.stop();
  await origin?.stop();
  await rm(dataDir, { recursive: true, force: true });
});

test('a server without robots ingests, plays and leaves the jobs of robots alone', async () => {
  await restart();
  const { id: assetId } = await settled(server, (await create()).id);
  const job = await api(server, 'POST', '/robots/v0/jobs/summarize', { parameters: { asset_id: assetId } });
  const { id: jobId } = (await job.json()).data;
  await until('a question', async () => provider.asked.length === 1);

  await restart({ robots: undefined });
  const { status, playback_ids: playbackIds, tracks } = await settled(server, (await create()).id);
  expect([status, tracks?.map(({ type }) => type).sort()]).toEqual(['ready', ['audio', 'text', 'video']]);
  const playlist = await fetch(`${server.url}/${playbackIds![0]!.id}.m3u8`);
  expect([playlist.status, await playlist.text()]).toEqual([200, expect.stringContaining('#EXTM3U')]);
  for (const path of ['/robots/v0/directives', `/robots/v0/jobs/summarize/${jobId}`])
    await expectError(await api(server, 'GET', path), 404, 'not_found', [
      `There is no operation GET ${path}. See /docs for all operations.`,
    ]);
  expect((await fetch(`${server.url}/artifacts/robots/${assetId}/${jobId}.vtt`)).status).toBe(404);
  const document = await (await fetch(`${server.url}/openapi.json`)).json();
  expect(Object.keys(document.paths).filter((path) => path.startsWith('/robots/'))).toEqual([]);
  expect(document.components.schemas.RobotsError).toBeUndefined();
  const body = { inputs: `${origin.url}/video.mp4`, directives: [{ id: 'drv_000000000000000000000000' }] };
  await expectError(await api(server, 'POST', '/video/v1/assets', body), 400, 'invalid_parameters', [
    'directives[0].id does not refer to an existing directive',
  ]);
  expect(provider.asked).toHaveLength(1);

  script = { title: 'Harbour', description: 'A harbour.', tags: ['sea'] };
  await restart();
  await until('the end of the job', async () => (await statusOf(jobId)) === 'completed');
  expect(provider.asked).toHaveLength(2);
});
