import { readFile, rm } from 'node:fs/promises';
import Mux from '@mux/mux-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { makeTestDataDir } from '../../support/servers/database.js';
import { filesBelow, until } from '../../support/servers/server-process.js';
import { type SlowOrigin, startSlowOrigin } from '../../support/servers/slow-origin.js';
import { movableClock } from '../../support/servers/webhooks.js';
import { createAsset, settled } from '../../support/wire/create-asset.js';

const DAY_MS = 24 * 3600_000;

const clock = movableClock();
let dataDir: string;
let server: Booted;
let origin: SlowOrigin;
let mux: Mux;
const start = async () => {
  server = await boot({ clock, dataDir, ...(server && { token: server.token }) });
  const { id: tokenId, secret: tokenSecret } = server.token;
  mux = new Mux({ baseURL: server.url, tokenId, tokenSecret, maxRetries: 0 });
};
beforeAll(async () => {
  dataDir = await makeTestDataDir();
  origin = await startSlowOrigin();
  origin.add('video.mp4', await readFile(await fixture('h264-aac.mp4')));
  origin.add('en.vtt', Buffer.from('WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n'));
  await start();
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
  await rm(dataDir, { recursive: true, force: true });
});

test('runs and jobs that have ended are there for 30 days, their results for 7', async () => {
  const text = { type: 'text', text_type: 'subtitles', language_code: 'en', name: 'English' };
  const inputs = [{ url: `${origin.url}/video.mp4` }, { url: `${origin.url}/en.vtt`, ...text }];
  const { id } = await createAsset(server, { inputs });
  const asset = await settled(server, id);
  const { directives, jobs } = mux.robots;
  const directive = await directives.create({
    name: 'Old',
    subject: { type: 'video.asset' },
    workflows: [{ reference_id: 'edit', workflow: 'edit-captions', params: { delete_original_track: false } as never }],
  });
  const { run_id: runId } = await directives.runs.create(directive.id, { asset_id: id });
  const runOf = () => directives.runs.retrieve(directive.id, runId);
  await until('the end of the run', async () => (await runOf()).status === 'completed');
  const { job_id: jobId } = (await runOf()).node_states[0] as { job_id: string };
  const { outputs } = await jobs.editCaptions.retrieve(jobId);
  const resultStatus = async () => {
    const { pathname, search } = new URL(outputs!.temporary_vtt_url!);
    return (await fetch(`${server.url}${pathname}${search}`)).status;
  };
  const kept = () => filesBelow(`${dataDir}/blobs/assets/${id}`).filter((path) => path.includes(jobId));
  expect([await resultStatus(), kept().length]).toEqual([200, 1]);

  clock.aheadMs += 8 * DAY_MS;
  expect(await resultStatus()).toBe(403);
  clock.aheadMs = 29 * DAY_MS;
  await server.stop();
  await start();
  expect((await mux.robots.jobs.editCaptions.retrieve(jobId)).status).toBe('completed');
  expect((await mux.robots.directives.runs.retrieve(directive.id, runId)).status).toBe('completed');

  clock.aheadMs = 31 * DAY_MS;
  await server.stop();
  await start();
  await until('the files are removed', () => kept().length === 0);
  await expect(mux.robots.jobs.editCaptions.retrieve(jobId)).rejects.toMatchObject({
    status: 404,
    error: { error: { type: 'not_found', message: 'Job not found' } },
  });
  await expect(mux.robots.directives.runs.retrieve(directive.id, runId)).rejects.toMatchObject({
    status: 404,
    error: { error: { type: 'not_found', message: 'Run not found' } },
  });
  expect(await resultStatus()).toBe(404);
  // What the job made is the owner's.
  const tracks = (await settled(server, id)).tracks!.filter(({ type }) => type === 'text');
  expect(tracks).toMatchObject([{ id: asset.tracks!.find(({ type }) => type === 'text')!.id }, { status: 'ready' }]);
  expect((await mux.robots.directives.retrieve(directive.id)).name).toBe('Old');
});
