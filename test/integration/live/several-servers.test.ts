import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { counterOf, readRgbFrames } from '../../support/media/measure.js';
import { parseLivePlaylist } from '../../support/players/live-playlist.js';
import { fetchBytes } from '../../support/players/play.js';
import { freePort } from '../../support/servers/free-port.js';
import { isContinuous, LiveStation, SESSION_FRAMES, type WireLiveStream } from '../../support/servers/live-station.js';
import { hasNginxStream, startNginxStream } from '../../support/servers/nginx.js';
import { hasPostgres, startPostgres, type TestPostgres } from '../../support/servers/postgres.js';
import { makeBucket } from '../../support/servers/s3-bucket.js';
import { cleanUpServers, until } from '../../support/servers/server-process.js';
import { type Swift, startSwift, swiftCredentials, swiftPath } from '../../support/servers/swift.js';
import { api, createAsset, getAsset, settled } from '../../support/wire/create-asset.js';

describe.runIf(swiftPath !== undefined && hasPostgres())('live streams with several servers', () => {
  let swift: Swift;
  let postgres: TestPostgres;
  let databaseUrl: string;
  let first: LiveStation;
  let second: LiveStation;
  let srtPorts: readonly number[];
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
    srtPorts = [await freePort(), await freePort()];
    [first, second] = (await Promise.all(
      srtPorts.map((port) => LiveStation.open({ options: { ...options, SRT_PORT: String(port) } })),
    )) as [LiveStation, LiveStation];
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

    // Whichever server cuts it, a clip has its frames.
    await first.untilSegments(id, 4);
    const inputs = [{ url: `mux://assets/${assetId}`, start_time: 0.5, end_time: 2 }];
    const cut = async (): Promise<number[]> => {
      const clip = await createAsset(second.server, { inputs, playback_policies: ['public'] });
      return second.counters(await settled(second.server, clip.id));
    };
    const frames = Array.from({ length: 45 }, (_, index) => 15 + index);
    expect(await Promise.all([cut(), cut()])).toEqual([frames, frames]);

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

  /** As if the owner of the live stream had been away for longer. */
  const endLease = async ({ id }: WireLiveStream): Promise<void> => {
    const client = new pg.Client(databaseUrl);
    await client.connect();
    const owner = "select 'live ' || node_id from live_stream where id = $1";
    await client.query(`update node_lease set until = now() where name = (${owner})`, [id]);
    await client.end();
  };

  /** The frames that viewers see, split where they do not follow each other. */
  const runsOf = (counters: readonly number[]): number[][] => {
    const runs: number[][] = [];
    for (const [at, counter] of counters.entries())
      if (at > 0 && counter === (counters[at - 1]! + 1) % SESSION_FRAMES) runs.at(-1)!.push(counter);
      else runs.push([counter]);
    return runs;
  };

  it('goes on at another server when its own is killed, in the same asset', async () => {
    const stream = await second.create();
    first.publish(stream, { loops: true });
    const assetId = await second.untilActive(stream);
    const id = await second.recordingId(assetId);
    await second.untilSegments(id, 5);
    const url = second.playlistUrl(id);
    const before = parseLivePlaylist(await (await fetch(url)).text());
    await first.server.kill();
    // Its lease says that it may come back.
    expect((await api(second.server, 'PUT', `/video/v1/live-streams/${stream.id}/complete`)).status).toBe(503);

    await endLease(stream);
    await until('another server has it', async () => (await fetch(url)).status === 200);
    const publisher = second.publish(stream, { loops: true });
    const isNew = (uri: string): boolean => /\?v=/.test(uri);
    await until('segments of the other server', async () => (await second.segments(id)).filter(isNew).length >= 4);
    expect((await second.retrieve(stream)).active_asset_id).toBe(assetId);
    expect(await second.told(stream.id)).toEqual([
      ...['created', 'connected', 'recording', 'active', 'disconnected', 'connected', 'recording'],
    ]);
    const after = parseLivePlaylist(await (await fetch(url)).text());
    expect([after.problems, after.discontinuitySequence]).toEqual([[], before.discontinuitySequence]);
    // What viewers know under a number that is used again has another URL.
    const known = new Set(before.segments.flatMap(({ uri, parts }) => [uri, ...parts.map((part) => part.uri)]));
    const from = after.segments.findIndex(({ discontinuity }) => discontinuity);
    expect(from).toBeGreaterThan(0);
    for (const { uri, parts } of after.segments.slice(from))
      for (const each of [uri, ...parts.map((part) => part.uri)]) if (each) expect(known.has(each)).toBe(false);
    // Between the sessions there is a slate.
    const listed = await second.segments(id);
    const bytes = await Promise.all(
      [after.segments[0]!.map!, ...listed].map((uri) => fetchBytes(new URL(uri, url).href)),
    );
    expect(runsOf(readRgbFrames(bytes).flatMap((frame) => counterOf(frame) ?? []))).toHaveLength(2);
    const lost = new URL(listed.find(isNew)!.replace(/\?.*/, ''), url).href;
    expect((await fetch(lost)).status).toBe(404);

    await first.start();
    expect((await fetch(first.playlistUrl(id))).status).toBe(200);
    expect((await api(first.server, 'PUT', `/video/v1/live-streams/${stream.id}/complete`)).status).toBe(200);
    publisher.process.kill('SIGKILL');
    const asset = await second.untilPlanned(assetId);
    const sessions = (asset.recording_times as { type: string }[]).map(({ type }) => type);
    expect([asset.status, sessions]).toEqual(['ready', ['content', 'slate', 'content']]);
    const runs = runsOf(await second.counters(asset));
    expect(runs).toHaveLength(2);
    // Without what did not reach the bucket.
    for (const run of runs) expect(run.length).toBeGreaterThan(30);
  });

  it('becomes an asset of what has reached the bucket when no encoder comes back', async () => {
    const stream = await second.create({ reconnect_window: 0 });
    const { id } = stream.playback_ids[0]!;
    first.publish(stream, { loops: true });
    const assetId = await second.untilActive(stream);
    await second.untilSegments(id, 6);
    await first.server.kill();
    await endLease(stream);
    await until('another server has it', async () => (await fetch(second.playlistUrl(id))).status === 200);
    expect((await api(second.server, 'PUT', `/video/v1/live-streams/${stream.id}/complete`)).status).toBe(200);
    const asset = await second.untilPlanned(assetId);
    const counters = await second.counters(asset);
    expect([asset.status, counters.length > 30, isContinuous(counters)]).toEqual(['ready', true, true]);
    await first.start();
  });

  it.runIf(hasNginxStream).each(['rtmp', 'srt'] as const)(
    'is reached by %s through nginx, at another server when its own has stopped',
    async (protocol) => {
      const stations = [first, second].map(({ rtmpPort }, at) => ({ rtmpPort, srtPort: srtPorts[at]! }));
      const nginx = await startNginxStream(stations);
      try {
        const stream = await second.create();
        const srtUrl = (await second.srtUrl(stream)).replace(/:\d+\?/, `:${nginx.srt}?`);
        const via = protocol === 'rtmp' ? { port: nginx.rtmp } : { url: srtUrl };
        const publish = () => first.publish(stream, { loops: true, ...via });
        publish();
        const assetId = await second.untilActive(stream);
        const client = new pg.Client(databaseUrl);
        await client.connect();
        const { rows } = await client.query('select node_id from live_stream where id = $1', [stream.id]);
        await client.end();
        const isFirst = readFileSync(join(first.dataDir, 'live-owner'), 'utf8') === rows[0].node_id;
        const [own, other] = isFirst ? [first, second] : [second, first];
        await own.server.stop();
        let publisher = publish();
        // Encoders try again, and nginx the other server.
        await until('it is connected', async () => {
          if (publisher.process.exitCode !== null) publisher = publish();
          return (await other.told(stream.id)).at(-1) === 'recording';
        });
        expect((await other.retrieve(stream)).active_asset_id).toBe(assetId);
        expect((await api(other.server, 'PUT', `/video/v1/live-streams/${stream.id}/complete`)).status).toBe(200);
        publisher.process.kill('SIGKILL');
        await own.start();
      } finally {
        await nginx.stop();
      }
    },
  );

  it('goes on elsewhere at once when its server stops, and viewers notice nothing', async () => {
    const stream = await second.create();
    const { id } = stream.playback_ids[0]!;
    first.publish(stream, { loops: true });
    const assetId = await second.untilActive(stream);
    await second.untilSegments(id, 2);
    const statuses = new Set<number>();
    let isWatching = true;
    const watching = (async () => {
      while (isWatching) statuses.add((await fetch(second.playlistUrl(id))).status);
    })();
    const stopped = first.server.stop();
    await until('the encoder is away', async () => (await second.told(stream.id)).at(-1) === 'disconnected');
    const publisher = second.publish(stream, { loops: true });
    await until('it is connected', async () => (await second.told(stream.id)).at(-1) === 'recording');
    await until('new segments', async () => (await second.segments(id)).filter((uri) => /v=/.test(uri)).length > 2);
    isWatching = false;
    await Promise.all([watching, stopped]);
    expect([...statuses]).toEqual([200]);
    expect((await second.retrieve(stream)).active_asset_id).toBe(assetId);
    await first.start();

    // Its own server runs, but the encoder comes to another one.
    publisher.process.kill('SIGKILL');
    await until('the encoder is away again', async () => (await first.told(stream.id)).at(-1) === 'disconnected');
    first.publish(stream, { loops: true });
    await until('it is connected elsewhere', async () => (await first.told(stream.id)).at(-1) === 'recording');
    expect((await first.retrieve(stream)).active_asset_id).toBe(assetId);
    const recording = await first.recordingId(assetId);
    const versions = async (station: LiveStation): Promise<number> =>
      new Set((await station.segments(recording)).map((uri) => /v=.*/.exec(uri)?.[0])).size;
    await until('both see its segments', async () => (await versions(first)) === 3 && (await versions(second)) === 3);

    // The API of a server that has neither.
    expect((await api(second.server, 'POST', `/video/v1/live-streams/${stream.id}/reset-stream-key`)).status).toBe(201);
    await until('its encoder is away', async () => (await second.told(stream.id)).at(-1) === 'disconnected');
    expect((await api(second.server, 'PUT', `/video/v1/live-streams/${stream.id}/disable`)).status).toBe(200);
    expect((await second.retrieve(stream)).status).toBe('disabled');
    expect((await api(second.server, 'DELETE', `/video/v1/live-streams/${stream.id}`)).status).toBe(204);
  });
});
