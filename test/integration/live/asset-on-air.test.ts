/** What the asset of a broadcast refuses or leaves for later while it is on air. */
import Mux from '@mux/mux-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LiveStation } from '../../support/servers/live-station.js';
import { cleanUpServers, until } from '../../support/servers/server-process.js';
import { api } from '../../support/wire/create-asset.js';

let station: LiveStation;
let mux: Mux;

beforeAll(async () => {
  station = await LiveStation.open();
  const { url: baseURL, token } = station.server;
  mux = new Mux({ baseURL, tokenId: token.id, tokenSecret: token.secret, maxRetries: 0 });
});
afterAll(async () => {
  station.close();
  await cleanUpServers();
});

test('directives and shots of a broadcast wait for its end', { timeout: 120_000 }, async () => {
  const createDirective = (params: object) =>
    mux.robots.directives.create({
      name: 'Poster',
      subject: { type: 'video.asset' },
      resources: [
        { reference_id: 'shots', type: 'video.asset.shots', source: { via: 'mux_api', action: 'request_shots' } },
      ],
      workflows: [{ reference_id: 'poster', workflow: 'find-best-thumbnails', inputs: ['shots'], params }],
    });
  const [ofStream, ofAsset] = [
    await createDirective({ max_thumbnails: 1 }),
    await createDirective({ max_thumbnails: 2 }),
  ];
  const settings = { playback_policies: ['public'], directives: [{ id: ofStream.id }] };
  const stream = await station.create({ new_asset_settings: settings });
  const publisher = station.publish(stream, { loops: true });
  const assetId = await station.untilActive(stream);
  await mux.robots.directives.runs.create(ofAsset.id, { asset_id: assetId });
  const statuses = async () => {
    const lists = await Promise.all([ofStream, ofAsset].map(({ id }) => mux.robots.directives.runs.list(id)));
    return lists.flatMap(({ data }) => data.map(({ status }) => status));
  };
  await until('the run waits', async () => (await statuses()).join() === 'waiting');

  const post = async (path: string, body: object) => {
    const response = await api(station.server, 'POST', path, body);
    const { error } = (await response.json()) as { error: { messages?: string[]; message?: string } };
    return [response.status, error.message ?? error.messages?.join()];
  };
  expect(await post('/robots/v0/jobs/find-best-thumbnails', { parameters: { asset_id: assetId } })).toEqual([
    400,
    'Asset is not ready',
  ]);
  const clip = { url: `mux://assets/${assetId}`, start_time: 2, end_time: 4 };
  expect(await post('/video/v1/assets', { inputs: [clip] })).toEqual([
    400,
    'inputs[0].url refers to an asset that is live',
  ]);

  expect(await statuses()).toEqual(['waiting']);
  publisher.process.kill('SIGKILL');
  await mux.video.liveStreams.complete(stream.id);
  await station.untilPlanned(assetId);
  await until('both runs are completed', async () => (await statuses()).join() === 'completed,completed', 60_000);
  const made = await api(station.server, 'POST', '/video/v1/assets', {
    inputs: [{ ...clip, start_time: 0, end_time: 1 }],
  });
  expect(made.status).toBe(201);
});
