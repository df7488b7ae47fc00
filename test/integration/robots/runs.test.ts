import { readFile } from 'node:fs/promises';
import Mux from '@mux/mux-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { type Asked, startChatProvider } from '../../support/servers/chat-provider.js';
import { until } from '../../support/servers/server-process.js';
import { type SlowOrigin, startSlowOrigin } from '../../support/servers/slow-origin.js';
import { movableClock } from '../../support/servers/webhooks.js';
import { api, createAsset, getAsset, settled } from '../../support/wire/create-asset.js';
import { eventsOf, eventTypes } from '../../support/wire/events.js';

const CAPTIONS = 'WEBVTT\n\n00:00.000 --> 00:01.000\nHello harbour\n\n00:01.000 --> 00:02.000\nGoodbye\n';
const DAY_MS = 24 * 3600_000;
const asset = { type: 'video.asset' } as const;

type DirectiveBody = Parameters<Mux['robots']['directives']['create']>[0];

const clock = movableClock();
let server: Booted;
let origin: SlowOrigin;
let provider: Awaited<ReturnType<typeof startChatProvider>>;
let mux: Mux;
const answer = ({ prompt, text }: Asked) => {
  if (prompt === 'summarize') return { title: 'Harbour', description: 'A harbour.', tags: ['sea'] };
  const numbers = [...text.matchAll(/^(\d+): /gm)].map(([, number]) => Number(number));
  return { lines: numbers.map((number) => ({ number, text: `ligne ${number}` })) };
};

beforeAll(async () => {
  origin = await startSlowOrigin();
  origin.add('video.mp4', await readFile(await fixture('h264-aac.mp4')));
  origin.add('en.vtt', Buffer.from(CAPTIONS));
  provider = await startChatProvider(answer);
  server = await boot({ clock, options: { AI_URL: provider.url, AI_MODEL: 'small' } });
  const { id: tokenId, secret: tokenSecret } = server.token;
  mux = new Mux({ baseURL: server.url, tokenId, tokenSecret, maxRetries: 0 });
});
afterAll(async () => {
  await server?.stop();
  await provider?.stop();
  await origin?.stop();
});

const text = { type: 'text', text_type: 'subtitles', language_code: 'en', name: 'English' } as const;
const create = async (further: object = {}, withText = true) => {
  const video = { url: `${origin.url}/video.mp4` };
  const inputs = withText ? [video, { url: `${origin.url}/en.vtt`, ...text }] : [video];
  const { id } = await createAsset(server, { inputs, ...further });
  return settled(server, id);
};
const ended = async (directiveId: string, runId: string) => {
  const retrieve = () => mux.robots.directives.runs.retrieve(directiveId, runId);
  await until('the end of the run', async () => (await retrieve()).completed_at !== null);
  return retrieve();
};
const start = async (body: DirectiveBody, assetId: string) => {
  const directive = await mux.robots.directives.create(body);
  const run = await mux.robots.directives.runs.create(directive.id, { asset_id: assetId });
  expect(run).toEqual({ run_id: expect.stringMatching(/^drvrun_\w{24}$/), status: 'pending', subject_id: assetId });
  return { directive, id: run.run_id };
};

test('a directive named at creation runs once the asset is ready, each part after what it needs', async () => {
  const directive = await mux.robots.directives.create({
    name: 'All',
    subject: asset,
    resources: [
      {
        reference_id: 'en',
        type: 'video.asset.track',
        kind: 'caption',
        language: 'en',
        source: {
          via: 'mux_api',
          action: 'create_track',
          params: { type: 'text', url: `${origin.url}/en.vtt`, language_code: 'en' },
        },
      },
      { reference_id: 'shots', type: 'video.asset.shots', source: { via: 'mux_api', action: 'request_shots' } },
      {
        reference_id: 'fr',
        type: 'video.asset.track',
        kind: 'caption',
        language: 'fr',
        source: { via: 'workflow', binding: 'translate' },
      },
    ],
    workflows: [
      { reference_id: 'sum', workflow: 'summarize', inputs: ['fr'], params: { update_asset_meta: true } },
      { reference_id: 'translate', workflow: 'translate-captions', inputs: ['en'], params: { to_language_code: 'fr' } },
      {
        reference_id: 'poster',
        workflow: 'find-best-thumbnails',
        inputs: ['shots'],
        params: { max_thumbnails: 2, update_asset_thumbnail: true },
      },
    ],
  });
  expect(directive).toMatchObject({
    id: expect.stringMatching(/^drv_\w{24}$/),
    created_at: expect.any(Number),
    subject: asset,
  });
  const { id } = await create({ directives: [{ id: directive.id }] }, false);
  const { data: runs } = await mux.robots.directives.runs.list(directive.id);
  expect(runs).toMatchObject([{ subject_id: id }]);
  const run = await ended(directive.id, runs[0]!.run_id);
  expect(run).toMatchObject({
    status: 'completed',
    node_states: ['summarize', 'translate-captions', 'find-best-thumbnails'].map((workflow_name) => ({
      status: 'dispatched',
      workflow_name,
      job_id: expect.stringMatching(/^rjob_\w{24}$/),
    })),
  });
  const done = await getAsset(server, id);
  expect(done.directives).toEqual([{ id: directive.id }]);
  expect(done.meta).toEqual({ title: 'Harbour' });
  expect(done.thumbnail_time).toEqual(expect.any(Number));
  expect(done.tracks!.filter(({ type }) => type === 'text')).toMatchObject([
    { language_code: 'en', status: 'ready' },
    { language_code: 'fr', status: 'ready', name: 'French' },
  ]);
  // The summary reads the translation.
  expect(provider.asked.findLast(({ prompt }) => prompt === 'summarize')!.text).toContain('ligne 1');
  const jobs = run.node_states.map((node) => (node as { job_id: string }).job_id);
  const summary = await mux.robots.jobs.summarize.retrieve(jobs[0]!);
  expect(summary.directive).toEqual({ id: directive.id, run_id: run.run_id });
  expect(summary.resources!.assets).toEqual([
    { id, meta: { title: 'Harbour' }, _links: { self: { href: `${server.url}/video/v1/assets/${id}` } } },
  ]);
  const { outputs } = await mux.robots.jobs.findBestThumbnails.retrieve(jobs[2]!);
  expect(outputs!.best_thumbnails).toHaveLength(2);
  expect(outputs!.best_thumbnails[0]!.overall).toBeGreaterThanOrEqual(outputs!.best_thumbnails[1]!.overall);
  expect(outputs!.best_thumbnails[0]!.timestamp_ms / 1000).toBe(done.thumbnail_time);
  for (const { subscores } of outputs!.best_thumbnails)
    for (const score of Object.values(subscores))
      expect(score >= 0 && score <= 1, JSON.stringify(subscores)).toBe(true);
  expect(await eventTypes(server, run.run_id)).toEqual([
    'robots.directive_run.created',
    'robots.directive_run.completed',
  ]);
  const [, event] = await eventsOf(server, run.run_id);
  expect(event).toMatchObject({
    object: { type: 'directive_run', id: run.run_id },
    data: {
      created_at: run.completed_at,
      environment_id: expect.any(String),
      internal_id: expect.any(String),
      directive_run: { id: run.run_id, directive_id: directive.id, asset_id: id, status: 'completed' },
    },
  });
  expect(event!.data[event!.type]).toEqual(event!.data.directive_run);
});

test('what fails takes with it what depends on it, and nothing else', async () => {
  const { id } = await create();
  const { directive, id: runId } = await start(
    {
      name: 'Half',
      subject: asset,
      resources: [
        { reference_id: 'de', type: 'video.asset.track', kind: 'caption', language: 'de', source: { via: 'required' } },
        {
          reference_id: 'broken',
          type: 'video.asset.track',
          kind: 'caption',
          source: {
            via: 'mux_api',
            action: 'create_track',
            params: { type: 'text', url: `${origin.url}/none.vtt`, language_code: 'es' },
          },
        },
        { reference_id: 'en', type: 'video.asset.track', kind: 'caption', language: 'en' },
        {
          reference_id: 'dubbed',
          type: 'video.asset.track',
          kind: 'audio',
          source: { via: 'workflow', binding: 'dub' },
        },
      ],
      workflows: [
        { reference_id: 'a', workflow: 'summarize', inputs: ['de'] },
        { reference_id: 'b', workflow: 'summarize', inputs: ['broken'] },
        { reference_id: 'c', workflow: 'summarize', inputs: ['en'] },
        { reference_id: 'dub', workflow: 'translate-audio', params: { to_language_code: 'de' } },
        { reference_id: 'd', workflow: 'generate-engagement-insights', inputs: ['dubbed'] },
        { reference_id: 'e', workflow: 'generate-engagement-insights' },
      ],
    },
    id,
  );
  const run = await ended(directive.id, runId);
  expect(run.status).toBe('partial');
  expect(run.node_states).toMatchObject([
    { reference_id: 'a', status: 'failed', reason: 'The resource de was not ready when the run started' },
    {
      reference_id: 'b',
      status: 'failed',
      reason: expect.stringMatching(/^The resource broken could not be created: /),
    },
    { reference_id: 'c', status: 'dispatched' },
    { reference_id: 'dub', status: 'dispatched' },
    { reference_id: 'd', status: 'failed', reason: 'The resource dubbed was not made: the workflow dub failed' },
    { reference_id: 'e', status: 'dispatched' },
  ]);
  const { job_id } = run.node_states[3] as { job_id: string };
  expect((await mux.robots.jobs.translateAudio.retrieve(job_id)).errors).toEqual([
    { type: 'provider_unavailable', message: 'No provider is configured for this workflow.', retryable: false },
  ]);
});

test('a track from outside is waited for, for a day at most', async () => {
  const body: DirectiveBody = {
    name: 'Wait',
    subject: asset,
    resources: [{ reference_id: 'en', type: 'video.asset.track', kind: 'caption', language: 'en' }],
    workflows: [{ reference_id: 'sum', workflow: 'summarize', inputs: ['en'] }],
  };
  const [first, second] = [await create({}, false), await create({}, false)];
  const [came, missed] = [await start(body, first.id), await start(body, second.id)];
  for (const { directive, id } of [came, missed])
    await until(
      'a waiting run',
      async () => (await mux.robots.directives.runs.retrieve(directive.id, id)).status === 'waiting',
    );
  expect((await mux.robots.directives.runs.retrieve(came.directive.id, came.id)).node_states).toEqual([
    { reference_id: 'sum', status: 'waiting_for_resources', workflow_name: 'summarize' },
  ]);
  await mux.video.assets.createTrack(first.id, { ...text, url: `${origin.url}/en.vtt` });
  expect((await ended(came.directive.id, came.id)).status).toBe('completed');
  clock.aheadMs += DAY_MS + 60_000;
  const late = await ended(missed.directive.id, missed.id);
  expect(late).toMatchObject({
    status: 'errored',
    node_states: [{ status: 'failed', reason: 'The resource en was not available within 24 hours' }],
  });
  expect(await eventTypes(server, missed.id)).toEqual(['robots.directive_run.created', 'robots.directive_run.errored']);
});

test('a deleted asset ends its runs and jobs', async () => {
  const { id } = await create();
  const body: DirectiveBody = {
    name: 'Gone',
    subject: asset,
    resources: [{ reference_id: 'fr', type: 'video.asset.track', kind: 'caption', language: 'fr' }],
    workflows: [{ reference_id: 'sum', workflow: 'summarize', inputs: ['fr'] }],
  };
  const { directive, id: runId } = await start(body, id);
  expect((await api(server, 'DELETE', `/video/v1/assets/${id}`)).status).toBe(204);
  expect(await ended(directive.id, runId)).toMatchObject({
    status: 'errored',
    node_states: [{ status: 'failed', reason: 'The asset was deleted' }],
  });
  await mux.robots.directives.delete(directive.id);
  await expect(mux.robots.directives.retrieve(directive.id)).rejects.toMatchObject({ status: 404 });
  await expect(mux.robots.directives.runs.list(directive.id)).rejects.toMatchObject({
    status: 404,
    error: { error: { type: 'not_found', message: 'Directive not found' } },
  });
});
