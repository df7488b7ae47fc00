import { readFile } from 'node:fs/promises';
import Mux from '@mux/mux-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { until } from '../../support/servers/server-process.js';
import { type SlowOrigin, startSlowOrigin } from '../../support/servers/slow-origin.js';
import { createAsset, getAsset, settled } from '../../support/wire/create-asset.js';
import { eventsOf, eventTypes } from '../../support/wire/events.js';

const CAPTIONS = `WEBVTT

00:00.000 --> 00:01.000 align:start
[speaker_0] Mucks is <i>gonna</i> win & damn

00:01.000 --> 00:02.000
Nothing to see.

00:02.000 --> 00:03.000
Darn
`;

let server: Booted;
let origin: SlowOrigin;
let mux: Mux;
beforeAll(async () => {
  origin = await startSlowOrigin();
  origin.add('video.mp4', await readFile(await fixture('h264-aac.mp4')));
  origin.add('en.vtt', Buffer.from(CAPTIONS));
  server = await boot();
  mux = new Mux({
    baseURL: server.url,
    tokenId: server.token.id,
    tokenSecret: server.token.secret,
    maxRetries: 0,
  });
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
});

const text = { type: 'text', text_type: 'subtitles', language_code: 'en', name: 'English' } as const;
const create = async (further: object = {}) => {
  const inputs = [{ url: `${origin.url}/video.mp4` }, { url: `${origin.url}/en.vtt`, ...text }];
  const { id } = await createAsset(server, { inputs, playback_policies: ['public'], ...further });
  const asset = await settled(server, id);
  expect(asset.errors).toBeUndefined();
  return asset;
};
const texts = async (id: string) => (await getAsset(server, id)).tracks!.filter(({ type }) => type === 'text');

test('a job edits captions and replaces the track', async () => {
  const asset = await create();
  const [track] = await texts(asset.id);
  const { editCaptions } = mux.robots.jobs;
  const parameters = {
    asset_id: asset.id,
    track_id: track!.id as string,
    replacements: [
      { find: 'mucks', replace: 'Mux <b>' },
      { find: 'gonna', replace: 'going to', case_sensitive: true },
    ],
    speaker_replacements: [{ find: 'speaker_0', replace: 'Alice' }],
    auto_censor_profanity: { mode: 'mask' as const, always_censor: ['damn', 'darn'] },
  };
  const made = await editCaptions.create({ parameters, passthrough: 'p-1' });
  expect(made).toMatchObject({
    status: 'pending',
    workflow: 'edit-captions',
    units_consumed: 0,
    passthrough: 'p-1',
    parameters,
  });
  await until('the end of the job', async () => (await editCaptions.retrieve(made.id)).status === 'completed');
  const job = await editCaptions.retrieve(made.id);
  const [edited, ...others] = await texts(asset.id);
  expect(others).toEqual([]);
  expect(edited).toMatchObject({
    name: 'English edited',
    language_code: 'en',
    status: 'ready',
    text_source: 'uploaded',
  });
  expect(job.outputs).toEqual({
    total_replacement_count: 5,
    uploaded_track_id: edited!.id,
    temporary_vtt_url: expect.stringContaining(`/artifacts/robots/${asset.id}/${job.id}.vtt?expires=`),
  });
  const vtt = await (await fetch(job.outputs!.temporary_vtt_url!)).text();
  expect(vtt).toContain('[Alice] Mux &lt;b&gt; is <i>going to</i> win &amp; ????');
  expect(vtt).toContain('00:00:00.000 --> 00:00:01.000 align:start');
  const served = await fetch(`${server.url}/${asset.playback_ids![0]!.id}/text/${edited!.id}.vtt`);
  expect(await served.text()).toBe(vtt);
  expect(await eventTypes(server, job.id)).toEqual(
    ['pending', 'processing', 'completed'].map((status) => `robots.job.edit_captions.${status}`),
  );
  const [, , completed] = await eventsOf(server, job.id);
  const {
    internal_id,
    environment_id,
    [completed!.type]: nested,
    ...flat
  } = completed!.data as Record<string, unknown>;
  expect(nested).toEqual(flat);
  expect(flat).toMatchObject({ id: job.id, status: 'completed', outputs: job.outputs });
  expect(await eventTypes(server, edited!.id as string)).toEqual(['track.created', 'track.ready']);
  expect((await eventTypes(server, track!.id as string)).at(-1)).toBe('track.deleted');
});
