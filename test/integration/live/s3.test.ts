import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ObjectClient } from '#kinora/storage/s3/object-client.js';
import { isContinuous, LiveStation, SESSION_FRAMES } from '../../support/servers/live-station.js';
import { makeBucket } from '../../support/servers/s3-bucket.js';
import { cleanUpServers, filesBelow, until } from '../../support/servers/server-process.js';
import { type StrictS3Proxy, startStrictS3Proxy } from '../../support/servers/strict-s3-proxy.js';
import { type Swift, startSwift, swiftCredentials, swiftPath } from '../../support/servers/swift.js';
import { api, getAsset } from '../../support/wire/create-asset.js';

const PART_BYTES = 16 * 2 ** 20;

describe.runIf(swiftPath)('a live stream whose recording is stored in S3', () => {
  let swift: Swift;
  let proxy: StrictS3Proxy;
  let objects: ObjectClient;
  let station: LiveStation;
  beforeAll(async () => {
    swift = await startSwift();
    proxy = await startStrictS3Proxy(swift.url);
    await makeBucket(swift.settings('live'));
    objects = await ObjectClient.open(swift.settings('live'));
    station = await LiveStation.open({
      // A part of the upload every six seconds.
      megabits: 24,
      options: {
        BLOBS: 's3://live/kinora',
        S3_ENDPOINT: proxy.url,
        S3_ACCESS_KEY_ID: swiftCredentials.accessKeyId,
        S3_SECRET_ACCESS_KEY: swiftCredentials.secretAccessKey,
      },
    });
  });
  afterAll(async () => {
    station?.close();
    await cleanUpServers();
    objects?.close();
    await proxy?.stop();
    await swift?.close();
  });

  const keysOf = async (assetId: string): Promise<string[]> => {
    const keys: string[] = [];
    for await (const { key } of objects.list(`assets/${assetId}/`)) keys.push(key);
    return keys;
  };

  it('is sent while it is on air, goes on after kill -9, waits for the bucket, and plays from it', async () => {
    const stream = await station.create();
    const { id } = stream.playback_ids[0]!;
    const first = station.publish(stream, { loops: true });
    const assetId = await station.untilActive(stream);
    const partial = join(station.dataDir, 'blobs', '.partial', `assets~${assetId}~source`);
    await until('two parts are recorded', async () => (await stat(partial)).size > 2 * PART_BYTES + 2 ** 20);
    await until('a part is sent', async () => (await objects.listParts(`assets/${assetId}/`)).length === 1);
    // What is older than a few seconds is read from the file.
    const [oldest] = await station.segments((await getAsset(station.server, assetId)).playback_ids![0]!.id);
    expect((await fetch(new URL(oldest!, station.playlistUrl(id)))).status).toBe(200);
    await station.server.kill();
    await first.output;
    await station.start();
    const second = station.publish(stream);
    await second.output;
    await until('the session has ended', async () => (await station.told(stream.id)).at(-1) === 'disconnected');

    proxy.isAway = true;
    const completed = await api(station.server, 'PUT', `/video/v1/live-streams/${stream.id}/complete`);
    expect(completed.status).toBe(200);
    // Not stored yet: it is neither ended nor lost, and viewers read on.
    expect((await getAsset(station.server, assetId)).is_live).toBe(true);
    expect((await fetch(`${station.server.url}/${id}.m3u8`)).status).toBe(200);
    proxy.isAway = false;

    const asset = await station.untilPlanned(assetId);
    expect(await keysOf(assetId)).toContain(`assets/${assetId}/source`);
    expect(filesBelow(join(station.dataDir, 'blobs', '.partial'))).toEqual([]);
    // Nor are parts left of the process that was killed.
    expect(await objects.listParts(`assets/${assetId}/`)).toEqual([]);
    const counters = await station.counters(asset);
    expect(counters.slice(-SESSION_FRAMES)).toEqual(Array.from({ length: SESSION_FRAMES }, (_, frame) => frame));
    expect(isContinuous(counters.slice(0, -SESSION_FRAMES))).toBe(true);
    expect(counters.length).toBeGreaterThan(2 * SESSION_FRAMES);
    expect(proxy.violations).toEqual([]);

    expect((await api(station.server, 'DELETE', `/video/v1/assets/${assetId}`)).status).toBe(204);
    await until('the objects are gone', async () => (await keysOf(assetId)).length === 0);
    expect(await station.server.stop()).toBe(0);
  });
});
