import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { losePower } from '../../support/processes/lose-power.js';
import { isContinuous, LiveStation, SESSION_FRAMES, type WireLiveStream } from '../../support/servers/live-station.js';
import { cleanUpServers, filesBelow, until } from '../../support/servers/server-process.js';
import { api, getAsset } from '../../support/wire/create-asset.js';
import { openingBytes } from '../../support/wire/rtmp-bytes.js';

let station: LiveStation;
beforeAll(async () => {
  station = await LiveStation.open();
});
afterAll(async () => {
  station?.close();
  await cleanUpServers();
});

const complete = (stream: WireLiveStream): Promise<Response> =>
  api(station.server, 'PUT', `/video/v1/live-streams/${stream.id}/complete`);
const restart = async (): Promise<void> => {
  await station.server.kill();
  await station.start();
};
/** Where the counters of two sessions meet; a killed server loses what it had not written. */
const breaksIn = (counters: readonly number[]): number[] =>
  counters.flatMap((counter, at) => (at > 0 && !isContinuous([counters[at - 1]!, counter]) ? [at] : []));
const SESSION = ['connected', 'recording', 'disconnected'];

describe('a server that is killed', () => {
  it('before the first frame: the live stream is free again, and there is no asset', async () => {
    const stream = await station.create();
    const socket = connect(station.rtmpPort, '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(openingBytes(stream.stream_key));
    await until('the encoder is connected', async () => (await station.told(stream.id)).includes('connected'));
    await restart();
    expect(await station.told(stream.id)).toEqual(['created', 'connected', 'disconnected']);
    expect(await station.retrieve(stream)).not.toHaveProperty('active_asset_id');
    const assetId = await station.sendAll(stream);
    await complete(stream);
    expect(await station.counters(await station.untilPlanned(assetId))).toHaveLength(SESSION_FRAMES);
  });

  it('while it records and nobody can play yet: the same asset goes on', async () => {
    const stream = await station.create({ latency_mode: 'standard' });
    const encoder = station.publish(stream);
    await until('it records', async () => (await station.told(stream.id)).includes('recording'));
    const assetId = (await station.retrieve(stream)).active_asset_id!;
    await until('frames are written', () =>
      filesBelow(join(station.dataDir, 'blobs', '.partial')).some((name) => name.includes(assetId)),
    );
    await restart();
    await encoder.output;
    expect(await getAsset(station.server, assetId)).toMatchObject({ status: 'preparing', is_live: true });
    const again = station.publish(stream, { loops: true });
    expect(await station.untilActive(stream)).toBe(assetId);
    again.process.kill();
    await again.output;
    await complete(stream);
    const counters = await station.counters(await station.untilPlanned(assetId));
    const [start = 0, ...others] = breaksIn(counters);
    expect(others).toEqual([]);
    expect(isContinuous(counters.slice(0, start))).toBe(true);
    expect(counters[start]).toBe(0);
    expect(await station.told(stream.id)).toEqual([
      'created',
      ...SESSION,
      ...SESSION.toSpliced(2, 0, 'active'),
      'idle',
    ]);
  });

  it('while it waits for the encoder: nothing is missing', async () => {
    const stream = await station.create();
    const id = await station.recordingId(await station.sendAll(stream));
    await station.untilSegments(id, SESSION_FRAMES / 30);
    const before = await station.segments(id);
    await restart();
    await until('it can be played', async () => (await fetch(`${station.server.url}/${id}.m3u8`)).status === 200);
    expect(await station.segments(id)).toEqual(before);
    const assetId = await station.sendAll(stream);
    await complete(stream);
    const counters = await station.counters(await station.untilPlanned(assetId));
    expect(counters).toHaveLength(2 * SESSION_FRAMES);
    expect(isContinuous(counters)).toBe(true);
  });

  it('or stops, and starts again: both sessions have their times', async () => {
    const stream = await station.create();
    const encoder = station.publish(stream, { loops: true });
    const assetId = await station.untilActive(stream);
    await station.untilSegments(stream.playback_ids[0]!.id, 3);
    expect(await station.server.stop()).toBe(0);
    await encoder.output;
    await station.start();
    await station.sendAll(stream);
    await complete(stream);
    const asset = await station.untilPlanned(assetId);
    const times = asset.recording_times as { duration: number; type: string }[];
    expect(times.map(({ type }) => type)).toEqual(['content', 'slate', 'content']);
    expect(times.reduce((sum, { duration }) => sum + duration, 0)).toBeCloseTo(asset.duration!, 0);
    const counters = await station.counters(asset);
    expect(breaksIn(counters)).toEqual([counters.length - SESSION_FRAMES]);
    // Who still plays by the playlists of the broadcast is told to load the asset.
    const { id } = asset.playback_ids![0]!;
    expect((await fetch(station.playlistUrl(id))).status).toBe(200);
    await restart();
    expect((await fetch(station.playlistUrl(id))).status).toBe(404);
    expect((await fetch(station.playlistUrl(stream.playback_ids[0]!.id))).status).toBe(412);
    expect((await fetch(`${station.server.url}/${id}.m3u8`)).status).toBe(200);
  });

  it.each([0, 4, 12, 30, 60])('while a recording ends, %i ms after the request', async (ms) => {
    const stream = await station.create();
    const assetId = await station.sendAll(stream);
    const request = complete(stream).catch(() => undefined);
    await pause(ms);
    await restart();
    await request;
    expect((await complete(stream)).status).toBe(200);
    const asset = await station.untilPlanned(assetId);
    expect(asset).toMatchObject({ status: 'ready', is_live: false });
    const counters = await station.counters(asset);
    expect(counters).toHaveLength(SESSION_FRAMES);
    expect(isContinuous(counters)).toBe(true);
    expect(await station.told(stream.id)).toEqual(['created', ...SESSION.toSpliced(2, 0, 'active'), 'idle']);
    expect(await station.told(assetId)).toEqual(['created', 'ready', 'live_stream_completed']);
    // The next broadcast has other numbers.
    const last = Number.parseInt((await station.segments(stream.playback_ids[0]!.id)).at(-1) ?? '0', 10);
    const next = station.publish(stream, { loops: true });
    await until('the next one is recorded', async () => (await station.retrieve(stream)).active_asset_id);
    await until('it has later numbers', async () => {
      const [first] = await station.segments(stream.playback_ids[0]!.id);
      return first !== undefined && Number.parseInt(first, 10) > last;
    });
    next.process.kill();
    await complete(stream);
  });

  it('loses at most the last second of a broadcast when its machine loses power as well', async () => {
    const stream = await station.create();
    const encoder = station.publish(stream, { loops: true });
    const assetId = await station.untilActive(stream);
    const id = await station.recordingId(assetId);
    await station.untilSegments(id, 6);
    const before = (await station.segments(id)).length;
    await station.server.kill();
    await encoder.output;
    await losePower(join(station.dataDir, 'blobs'));
    await station.start();
    await until('it can be played', async () => (await fetch(`${station.server.url}/${id}.m3u8`)).status === 200);
    // Synced each second; the last segment may be incomplete.
    expect((await station.segments(id)).length).toBeGreaterThanOrEqual(before - 3);
    await station.sendAll(stream);
    await complete(stream);
    const counters = await station.counters(await station.untilPlanned(assetId));
    const start = breaksIn(counters).at(-1) ?? 0;
    expect(start).toBeGreaterThan((before - 4) * 30);
    expect(isContinuous(counters.slice(0, start))).toBe(true);
    expect(counters.slice(start)).toHaveLength(SESSION_FRAMES);
  });
});
