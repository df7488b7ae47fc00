import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import type { Origin } from '../../support/servers/origin.js';
import {
  cleanUpServers,
  filesBelow,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { type Served, serveNamed } from '../../support/servers/text-origin.js';
import { api, createAsset, getAsset, settled } from '../../support/wire/create-asset.js';

const SRT = '1\n00:00:01,000 --> 00:00:02,000\nHello\n';

let origin: Origin;
let server: ServerProcess;
/** Requests for the subtitles that are still to be answered. */
let held: ServerResponse[] = [];
const dataDir = makeDataDir();

beforeAll(async () => {
  const files: Record<string, Served> = {
    'video.mp4': { path: await fixture('video-only.mp4') },
    'held.srt': (response) => void held.push(response),
  };
  origin = await serveNamed(files);
  server = await startServer({ dataDir });
});
afterAll(async () => {
  await cleanUpServers();
  await origin?.stop();
});

const trackFiles = (assetId: string) =>
  filesBelow(dataDir).filter((name) => name.includes(assetId) && /track/.test(name));
const textsOf = async (assetId: string) =>
  (await getAsset(server, assetId)).tracks!.filter(({ type }) => type === 'text');

/** A ready asset whose subtitles don't come. */
const makeWaiting = async () => {
  held = [];
  const text = { url: `${origin.url}/held.srt`, type: 'text', text_type: 'subtitles', language_code: 'en' };
  const inputs = [{ url: `${origin.url}/video.mp4` }, text];
  const { id } = await createAsset(server, { inputs, playback_policies: ['public'] });
  const asset = await settled(server, id);
  expect(asset.status).toBe('ready');
  expect((await textsOf(id)).map(({ status }) => status)).toEqual(['preparing']);
  // The ingest of the asset has let go of the first request; the job of the track makes the second.
  await until('the track has a job of its own', () => held.length > 1);
  return asset;
};

test('a track goes on after the server was killed, and leaves its text alone', async () => {
  const asset = await makeWaiting();
  await server.kill();
  held = [];
  server = await startServer({ dataDir });
  await until('the file is asked for again', () => held.length > 0);
  for (const response of held) response.end(SRT);
  await until('the track is ready', async () => (await textsOf(asset.id))[0]!.status === 'ready');
  const [track] = await textsOf(asset.id);
  expect(trackFiles(asset.id)).toEqual([
    expect.stringMatching(/text-index\.bin$/),
    expect.stringMatching(/text\.vtt$/),
  ]);
  const address = `${server.url}/${asset.playback_ids![0]!.id}/text/${track!.id}.vtt`;
  expect(await (await fetch(address)).text()).toBe('WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nHello\n');

  const path = `/video/v1/assets/${asset.id}/tracks/${track!.id}`;
  expect((await api(server, 'DELETE', path)).status).toBe(204);
  await until('the text is removed', () => trackFiles(asset.id).length === 0);
});

test('the deletion of an asset ends the work on its tracks', async () => {
  const asset = await makeWaiting();
  const request = held.at(-1)!;
  const left = new Promise((resolve) => request.once('close', resolve));
  expect((await api(server, 'DELETE', `/video/v1/assets/${asset.id}`)).status).toBe(204);
  // Nobody waits for the file any more.
  await left;
  await until('nothing is left', () => filesBelow(dataDir).every((name) => !name.includes(asset.id)));
});
