import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { counterOf, readRgbFrames } from '../../support/media/measure.js';
import { parseLivePlaylist } from '../../support/players/live-playlist.js';
import { fetchBytes } from '../../support/players/play.js';
import { isContinuous, LiveStation } from '../../support/servers/live-station.js';
import { hasPostgres, startPostgres, type TestPostgres } from '../../support/servers/postgres.js';
import { makeBucket } from '../../support/servers/s3-bucket.js';
import { cleanUpServers, until } from '../../support/servers/server-process.js';
import { type Swift, startSwift, swiftCredentials, swiftPath } from '../../support/servers/swift.js';
import { api, getAsset } from '../../support/wire/create-asset.js';

describe.runIf(swiftPath !== undefined && hasPostgres())('live streams with several servers', () => {
  let swift: Swift;
  let postgres: TestPostgres;
  let databaseUrl: string;
  let first: LiveStation;
  let second: LiveStation;
  beforeAll(async () => {
    [swift, postgres] = await Promise.all([startSwift(), startPostgres()]);
    await makeBucket(swift.settings('live'));
    databaseUrl = await postgres.createDatabase('live');
    const options = {
      DATABASE_URL: databaseUrl,
      BLOBS: 's3://live/kinora',
      S3_ENDPOINT: swift.url,
      S3_ACCESS_KEY_ID: swiftCredentials.accessKeyId,
      S3_SECRET_ACCESS_KEY: swiftCredentials.secretAccessKey,
      MEDIA_PROCESSES: '1',
      DRAIN: '1s',
    };
    [first, second] = await Promise.all([LiveStation.open({ options }), LiveStation.open({ options })]);
  });
  afterAll(async () => {
    first?.close();
    second?.close();
    await cleanUpServers();
    await postgres?.stop();
    await swift?.close();
  });

  /** Init segment and parts of a playlist. */
  const partsOf = async (url: string): Promise<{ readonly init: string; readonly parts: string[] }> => {
    const { segments } = parseLivePlaylist(await (await fetch(url)).text());
    return { init: segments[0]!.map!, parts: segments.flatMap(({ parts }) => parts.map(({ uri }) => uri)) };
  };

  it('is played at every server: playlists that wait, parts, images and the page', async () => {
    const stream = await first.create();
    const { id } = stream.playback_ids[0]!;
    const publisher = first.publish(stream, { loops: true });
    const assetId = await first.untilActive(stream);
    expect(await (await fetch(`${second.server.url}/${id}.m3u8`)).text()).toContain('/live/270p/');

    const url = second.playlistUrl(id);
    const { init, parts } = await partsOf(url);
    const last = parseLivePlaylist(await (await fetch(url)).text()).segments.at(-1)!.number;
    const waited = await fetch(`${url}?_HLS_msn=${last + 1}&_HLS_part=0`);
    expect(waited.status).toBe(200);
    expect(waited.headers.get('cache-control')).toMatch(/^public, max-age=/);
    expect(parseLivePlaylist(await waited.text()).segments.at(-1)!.number).toBeGreaterThan(last);

    const read = async (station: LiveStation): Promise<Uint8Array[]> => {
      const base = station.playlistUrl(id);
      return Promise.all([init, ...parts].map((uri) => fetchBytes(new URL(uri, base).href)));
    };
    const bytes = await read(second);
    expect(bytes).toEqual(await read(first));
    const counters = readRgbFrames(bytes).flatMap((frame) => counterOf(frame) ?? []);
    // The first segment, of a second, is listed.
    expect(counters.length).toBeGreaterThanOrEqual(30);
    expect(isContinuous(counters)).toBe(true);

    const image = await fetch(`${second.server.url}/${id}/thumbnail.jpg?latest=true`);
    expect([image.status, image.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
    const page = await (await fetch(`${second.server.url}/${id}`)).text();
    expect(page).toContain(id);
    expect(page).not.toContain(new URL(first.server.url).host);
    // The asset that is being recorded plays under its own ID.
    const [own] = (await getAsset(second.server, assetId)).playback_ids!;
    expect((await fetch(`${second.server.url}/${own!.id}.m3u8`)).status).toBe(200);

    // Another encoder with the same key does not write a second recording.
    const refused = second.publish(stream);
    await refused.output;
    expect(await first.told(stream.id)).toEqual(['created', 'connected', 'recording', 'active']);

    expect((await api(second.server, 'PUT', `/video/v1/live-streams/${stream.id}/complete`)).status).toBe(200);
    expect((await getAsset(second.server, assetId)).is_live).toBe(false);
    publisher.process.kill('SIGKILL');
    await first.untilPlanned(assetId);
    const recorded = await second.counters(await getAsset(second.server, assetId));
    expect(isContinuous(recorded)).toBe(true);
    // Players that rewind go on.
    expect((await fetch(url)).status).toBe(200);
  });

  /** As if a minute had passed. */
  const endLeases = async (): Promise<void> => {
    const client = new pg.Client(databaseUrl);
    await client.connect();
    await client.query("update node_lease set until = now() where name like 'live %'");
    await client.end();
  };

  it('waits for a server that was killed, and begins again elsewhere when its lease has ended', async () => {
    const stream = await second.create();
    first.publish(stream, { loops: true });
    const lostId = await second.untilActive(stream);
    await first.server.kill();
    const refused = second.publish(stream);
    await refused.output;
    expect((await second.retrieve(stream)).active_asset_id).toBe(lostId);
    expect((await api(second.server, 'PUT', `/video/v1/live-streams/${stream.id}/complete`)).status).toBe(503);

    await endLeases();
    second.publish(stream, { loops: true });
    await until('another recording', async () => {
      const { status, active_asset_id: assetId } = await second.retrieve(stream);
      return status === 'active' && assetId !== lostId;
    });
    await until('the lost one is told', async () => (await getAsset(second.server, lostId)).status === 'errored');
    await first.start();
    expect((await fetch(first.playlistUrl(stream.playback_ids[0]!.id))).status).toBe(200);

    // The API of a server that has neither.
    expect((await api(first.server, 'POST', `/video/v1/live-streams/${stream.id}/reset-stream-key`)).status).toBe(201);
    await until('its encoder is away', async () => (await first.told(stream.id)).at(-1) === 'disconnected');
    expect((await api(first.server, 'PUT', `/video/v1/live-streams/${stream.id}/disable`)).status).toBe(200);
    expect((await first.retrieve(stream)).status).toBe('disabled');
    expect((await api(first.server, 'DELETE', `/video/v1/live-streams/${stream.id}`)).status).toBe(204);
  });
});
