import { readFile } from 'node:fs/promises';
import Mux from '@mux/mux-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { startChatProvider } from '../../support/servers/chat-provider.js';
import { until } from '../../support/servers/server-process.js';
import { type SlowOrigin, startSlowOrigin } from '../../support/servers/slow-origin.js';
import { type Receiver, startReceiver } from '../../support/servers/webhook-receiver.js';

let server: Booted;
let origin: SlowOrigin;
let provider: Awaited<ReturnType<typeof startChatProvider>>;
let receiver: Receiver;
let mux: Mux;
beforeAll(async () => {
  origin = await startSlowOrigin();
  origin.add('video.mp4', await readFile(await fixture('h264-aac.mp4')));
  origin.add('en.vtt', Buffer.from('WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n'));
  receiver = await startReceiver();
  // Chapters wait forever, and a summary is refused.
  provider = await startChatProvider(({ prompt }) => (prompt === 'summarize' ? { status: 400 } : 'silent'));
  server = await boot({ options: { AI_URL: provider.url, AI_MODEL: 'reader' } });
  const { id: tokenId, secret: tokenSecret } = server.token;
  mux = new Mux({ baseURL: server.url, tokenId, tokenSecret, maxRetries: 0 });
});
afterAll(async () => {
  await server?.stop();
  await receiver?.stop();
  await provider?.stop();
  await origin?.stop();
});

const text = { type: 'text', text_type: 'subtitles', language_code: 'en', name: 'English' } as const;
const edit = { reference_id: 'edit', workflow: 'edit-captions', params: { delete_original_track: false } } as never;
const chapters = { reference_id: 'chapters', workflow: 'generate-chapters' } as const;
const sum = { reference_id: 'sum', workflow: 'summarize' } as const;

test('the official SDK starts runs and jobs, and takes every event of them', async () => {
  const { signing_secret: secret } = await mux.system.webhooks.create({ address: `${receiver.url}/in` });
  const subject = { type: 'video.asset' } as const;
  const { directives, jobs } = mux.robots;
  const [all, some, none] = [
    await directives.create({ name: 'All', subject, workflows: [edit] }),
    await directives.create({ name: 'Some', subject, workflows: [chapters, sum, edit] }),
    await directives.create({ name: 'None', subject, workflows: [sum] }),
  ];
  const { id } = await mux.video.assets.create({
    inputs: [{ url: `${origin.url}/video.mp4` }, { url: `${origin.url}/en.vtt`, ...text }],
    directives: [{ id: all.id }],
  });
  const events = () => receiver.at('/in').map(({ event }) => event);
  const typesOf = (objectId: string) =>
    events()
      .filter(({ object }) => object.id === objectId)
      .map(({ type }) => type);
  const untilTold = async (objectId: string, type: string) => {
    await until(`${type} of ${objectId}`, () => typesOf(objectId).includes(type));
    return typesOf(objectId);
  };
  const run = (end: string) => ['robots.directive_run.created', `robots.directive_run.${end}`];
  const job = (workflow: string, end: string) =>
    ['pending', 'processing', end].map((status) => `robots.job.${workflow}.${status}`);
  const jobsOf = async (directiveId: string, runId: string) => {
    let ids: (string | undefined)[] = [];
    await until('every workflow has a job', async () => {
      const { node_states: nodes } = await directives.runs.retrieve(directiveId, runId);
      ids = nodes.map((node) => (node as { job_id?: string }).job_id);
      return !ids.includes(undefined);
    });
    return ids;
  };

  await untilTold(id, 'video.asset.ready');
  const allRun = (await directives.runs.list(all.id)).data[0]!.run_id;
  expect(await untilTold(allRun, 'robots.directive_run.completed')).toEqual(run('completed'));
  const [edited] = await jobsOf(all.id, allRun);
  expect(await untilTold(edited!, 'robots.job.edit_captions.completed')).toEqual(job('edit_captions', 'completed'));

  const { run_id: someRun } = await directives.runs.create(some.id, { asset_id: id });
  await until('a question about chapters', () => provider.asked.some(({ prompt }) => prompt === 'generate_chapters'));
  const [cancelled, errored, completed] = await jobsOf(some.id, someRun);
  await jobs.cancel(cancelled!);
  expect(await untilTold(someRun, 'robots.directive_run.partial')).toEqual(run('partial'));
  expect(await untilTold(cancelled!, 'robots.job.generate_chapters.cancelled')).toEqual(
    job('generate_chapters', 'cancelled'),
  );
  expect(await untilTold(errored!, 'robots.job.summarize.errored')).toEqual(job('summarize', 'errored'));
  expect(await untilTold(completed!, 'robots.job.edit_captions.completed')).toEqual(job('edit_captions', 'completed'));

  const { run_id: noRun } = await directives.runs.create(none.id, { asset_id: id });
  expect(await untilTold(noRun, 'robots.directive_run.errored')).toEqual(run('errored'));

  const told = receiver.at('/in').filter(({ event }) => event.type.startsWith('robots.'));
  for (const { body, headers, event } of told) {
    expect(await mux.webhooks.unwrap(body, headers as never, secret!)).toEqual(event);
    const { data, object, type } = event;
    const named = data[type] as Record<string, unknown>;
    expect([object.type, object.id]).toEqual([type.startsWith('robots.job.') ? 'job' : 'directive_run', named.id]);
    expect(data).toMatchObject({
      internal_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      environment_id: (event.environment as { id: string }).id,
      created_at: expect.any(Number),
    });
    if (object.type === 'job') expect(data).toMatchObject(named);
    else expect(data.directive_run).toEqual(named);
  }
  // An event has the job as it was then.
  const last = told.find(({ event }) => event.object.id === errored && event.type.endsWith('.errored'))!.event;
  expect(last.data).toMatchObject(JSON.parse(JSON.stringify(await jobs.summarize.retrieve(errored!))));
});
