/** What the asset of a broadcast refuses or leaves for later while it is on air. */
import { join } from 'node:path';
import Mux from '@mux/mux-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeMedia } from '../../support/media/fixture-media.js';
import { LiveStation } from '../../support/servers/live-station.js';
import { cleanUpServers, until } from '../../support/servers/server-process.js';
import { api, getAsset, settled, type WireAsset } from '../../support/wire/create-asset.js';

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

test('directives and shots of a broadcast wait for its end', async () => {
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
  expect(await statuses()).toEqual(['waiting']);
  publisher.process.kill('SIGKILL');
  await mux.video.liveStreams.complete(stream.id);
  await station.untilPlanned(assetId);
  await until('both runs are completed', async () => (await statuses()).join() === 'completed,completed', 60_000);
});

test('clips are cut out of what is recorded so far', async () => {
  const path = join(station.dataDir, 'reordered.flv');
  writeMedia(
    {
      muxer: 'flv',
      seconds: 12,
      video: {
        encoder: 'libx264',
        width: 320,
        height: 180,
        rate: [30, 1],
        gop: 30,
        bFrames: 2,
        options: { preset: 'veryfast', crf: '30', 'x264-params': 'scenecut=0:open-gop=0:threads=1:b-adapt=0' },
      },
      audio: { encoder: 'aac', sampleRate: 44_100, channels: 2, bitRate: 96_000 },
    },
    path,
  );
  const stream = await station.create();
  const publisher = station.publish(stream, { path });
  const assetId = await station.untilActive(stream);
  await station.untilSegments(await station.recordingId(assetId), 7);

  const url = `mux://assets/${assetId}`;
  const post = (times: object) =>
    api(station.server, 'POST', '/video/v1/assets', { inputs: [{ url, ...times }], playback_policies: ['public'] });
  const refusal = async (times: object) => {
    const response = await post(times);
    return [response.status, ((await response.json()) as { error: { messages: string[] } }).error.messages.join()];
  };
  const clip = async (times: object): Promise<WireAsset> => {
    const response = await post(times);
    expect(response.status).toBe(201);
    return ((await response.json()) as { data: WireAsset }).data;
  };
  const ready = async ({ id }: WireAsset): Promise<WireAsset> => {
    const asset = await settled(station.server, id);
    expect(asset.errors).toBeUndefined();
    return asset;
  };
  expect(await refusal({ start_time: 1000 })).toEqual([
    400,
    'inputs[0].start_time is beyond the end of the source asset',
  ]);
  expect(await refusal({ start_time: 2, end_time: 2.3 })).toEqual([
    400,
    'inputs[0] clip must be at least 0.5 seconds long',
  ]);

  const within = await ready(await clip({ start_time: 2.5, end_time: 5 }));
  const untilNow = await ready(await clip({ start_time: 4 }));
  expect((await station.retrieve(stream)).status).toBe('active');
  expect(await getAsset(station.server, assetId)).toMatchObject({ is_live: true, status: 'ready' });
  expect(within).toMatchObject({ ingest_type: 'on_demand_clip', source_asset_id: assetId, duration: 2.5 });
  expect(within.tracks!.map(({ type }) => type).sort()).toEqual(['audio', 'video']);
  const first = await station.counters(within);
  expect(first).toEqual(range(75, 150));

  const killed = await clip({ start_time: 1, end_time: 3 });
  await station.server.kill();
  publisher.process.kill('SIGKILL');
  await station.start();
  expect(await station.counters(await ready(killed))).toEqual(range(30, 90));
  expect((await getAsset(station.server, assetId)).is_live).toBe(true);

  await api(station.server, 'PUT', `/video/v1/live-streams/${stream.id}/complete`);
  const whole = await station.untilPlanned(assetId);
  expect((await station.counters(whole)).slice(0, 150)).toEqual(range(0, 150));
  expect((await api(station.server, 'DELETE', `/video/v1/assets/${assetId}`)).status).toBe(204);
  const rest = await station.counters(untilNow);
  expect(rest).toEqual(range(120, 120 + rest.length));
  expect(rest.length).toBeGreaterThan(60);
});

const range = (from: number, end: number) => Array.from({ length: end - from }, (_, index) => from + index);
