import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { mediaPlaylists, segmentsOf } from '../../support/players/play.js';
import type { Origin } from '../../support/servers/origin.js';
import {
  cleanUpServers,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { api, createAsset, serveFiles, settled } from '../../support/wire/create-asset.js';
import { eventsOf } from '../../support/wire/events.js';

let origin: Origin;
let server: ServerProcess;
const dataDir = makeDataDir();
beforeAll(async () => {
  origin = await serveFiles([await fixture('video-only.mp4')]);
  server = await startServer({ dataDir });
});
afterAll(async () => {
  await origin?.stop();
  await cleanUpServers();
});

it('a budget that was spent before kill -9 stops playback from the start, and its events stay two', async () => {
  const inputs = [{ url: `${origin.url}/0` }];
  const { id, playback_ids } = await settled(
    server,
    (await createAsset(server, { inputs, playback_policies: ['public'] })).id,
  );
  const playbackId = playback_ids![0]!.id;
  const statusNow = async () => (await fetch(`${server.url}/${playbackId}.m3u8`)).status;
  const rules = { asset_id: id, period: 'month', seconds: 1, action: 'stop' };
  const budgetId = (await (await api(server, 'POST', '/video/v1/delivery-budgets', rules)).json()).data.id;
  const restart = async (): Promise<void> => {
    await server.kill();
    server = await startServer({ dataDir });
  };
  const [playlist] = await mediaPlaylists(server.url, playbackId);
  const segment = (await segmentsOf(playlist!)).find((url) => url.endsWith('/0.m4s'));
  await (await fetch(segment!)).arrayBuffer();
  // Nothing of this was stored, so nothing follows from it.
  await restart();
  expect(await statusNow()).toBe(200);
  expect(await eventsOf(server, budgetId)).toEqual([]);

  await (await fetch(segment!.replace(/^http:\/\/[^/]+/, server.url))).arrayBuffer();
  const budget = async () => (await (await api(server, 'GET', `/video/v1/delivery-budgets/${budgetId}`)).json()).data;
  await until('it is spent', async () => (await budget()).status === 'spent');
  // Whether the events are recorded by now or not.
  await restart();
  expect(await statusNow()).toBe(403);
  const types = async () => (await eventsOf(server, budgetId)).map(({ type }) => type);
  await until('the events are recorded', async () => (await types()).length >= 2);
  await restart();
  expect(await statusNow()).toBe(403);
  expect(await types()).toEqual(['video.delivery_budget.warning', 'video.delivery_budget.spent']);
});
