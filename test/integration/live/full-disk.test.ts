import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { playAll } from '../../support/players/play.js';
import { isContinuous, LiveStation } from '../../support/servers/live-station.js';
import type { Origin } from '../../support/servers/origin.js';
import { cleanUpServers, until } from '../../support/servers/server-process.js';
import { mountSmallDisk } from '../../support/servers/small-disk.js';
import { api, createAsset, serveFiles, settled } from '../../support/wire/create-asset.js';
import { eventsOf } from '../../support/wire/events.js';

const MIB = 2 ** 20;
const FULL = 'The disk of the server is full.';
const disk = mountSmallDisk({ mebibytes: 512, inodes: 20_000 });

describe.runIf(disk)('a disk that fills up while a live stream is on air', () => {
  let station: LiveStation;
  let origin: Origin;
  beforeAll(async () => {
    origin = await serveFiles([await fixture('h264-aac.mp4')]);
    station = await LiveStation.open({ dataDir: join(disk!.dir, 'data') });
  });
  afterAll(async () => {
    station?.close();
    await cleanUpServers();
    await origin?.stop();
    disk?.unmount();
  });

  const warningsOf = async (id: string): Promise<unknown[]> =>
    (await eventsOf(station.server, id))
      .filter(({ type }) => type.endsWith('.warning'))
      .map(({ data }) => (data as { warning: unknown }).warning);

  it('ends the recording with a warning while there is room to complete it; other videos play', async () => {
    const { id: vodId } = await createAsset(station.server, {
      inputs: [{ url: `${origin.url}/0` }],
      playback_policies: ['public'],
    });
    const playbackId = (await settled(station.server, vodId)).playback_ids![0]!.id;
    const stream = await station.create();
    const encoder = station.publish(stream, { loops: true });
    const assetId = await station.untilActive(stream);
    await station.untilSegments(stream.playback_ids[0]!.id, 5);
    disk!.fillSpace(48 * MIB);
    expect(await encoder.output).toContain(FULL);
    const asset = await station.untilPlanned(assetId);
    expect(asset).toMatchObject({ status: 'ready', is_live: false });
    const counters = await station.counters(asset);
    expect(counters.length).toBeGreaterThan(90);
    expect(isContinuous(counters)).toBe(true);
    const warning = { type: 'disk_full', message: FULL };
    expect(await warningsOf(stream.id)).toEqual([expect.objectContaining(warning)]);
    expect(await warningsOf(assetId)).toEqual([expect.objectContaining(warning)]);
    expect(await station.told(stream.id)).toEqual([
      'created',
      'connected',
      'recording',
      'active',
      'warning',
      'disconnected',
      'idle',
    ]);
    expect(Object.keys(await playAll(station.server.url, playbackId)).length).toBeGreaterThan(0);
    // Nobody begins a recording that would end at once.
    expect(await station.publish(stream).output).toContain(FULL);
    disk!.empty();
    const again = station.publish(stream, { loops: true });
    expect(await station.untilActive(stream)).not.toBe(assetId);
    expect((await api(station.server, 'PUT', `/video/v1/live-streams/${stream.id}/disable`)).status).toBe(200);
    await again.output;
  });

  it('that is full at once: nothing that was recorded is lost, and it is completed when there is room', async () => {
    const stream = await station.create();
    const encoder = station.publish(stream, { loops: true });
    const assetId = await station.untilActive(stream);
    const playbackId = stream.playback_ids[0]!.id;
    await station.untilSegments(playbackId, 5);
    disk!.fillSpace();
    expect(await encoder.output).toContain(FULL);
    expect((await fetch(`${station.server.url}/healthz`)).status).toBe(200);
    // Viewers see its end, and can go back to what was recorded.
    await until('the broadcast has ended for viewers', async () => {
      return (await (await fetch(station.playlistUrl(playbackId))).text()).includes('#EXT-X-ENDLIST');
    });
    const segments = await station.segments(playbackId);
    expect((await fetch(new URL(segments[0]!, station.playlistUrl(playbackId)))).status).toBe(200);
    disk!.empty();
    const asset = await station.untilPlanned(assetId);
    const counters = await station.counters(asset);
    // The last segment may be short.
    expect(counters.length).toBeGreaterThan((segments.length - 1) * 30);
    expect(isContinuous(counters)).toBe(true);
    expect((await station.told(stream.id)).slice(3)).toEqual(['active', 'warning', 'disconnected', 'idle']);
    expect(await station.server.stop()).toBe(0);
  });
});

describe('a recording that gets as large as sources may be', () => {
  let station: LiveStation;
  beforeAll(async () => {
    station = await LiveStation.open({ megabits: 4, options: { MAX_SOURCE_SIZE: '2MiB' } });
  });
  afterAll(async () => {
    station?.close();
    await cleanUpServers();
  });

  it('ends with a warning, and is an asset', async () => {
    const stream = await station.create();
    const encoder = station.publish(stream, { loops: true });
    const assetId = await station.untilActive(stream);
    expect(await encoder.output).toContain('as large as the server allows');
    const asset = await station.untilPlanned(assetId);
    expect(asset).toMatchObject({ status: 'ready', is_live: false });
    expect(isContinuous(await station.counters(asset))).toBe(true);
    expect((await station.told(stream.id)).slice(3)).toEqual(['active', 'warning', 'disconnected', 'idle']);
  });
});
