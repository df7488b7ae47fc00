/** What a server reads of a recording that another one has begun, on S3. */
import { cp, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '#kinora/lib/clock.js';
import type { IngestPacket } from '#kinora/live/ingest.js';
import { Recording } from '#kinora/live/recording/recording.js';
import { listReplica, replicaStoreOf } from '#kinora/live/recording/replica.js';
import { sourceKey } from '#kinora/storage/keys.js';
import { ObjectClient } from '#kinora/storage/s3/object-client.js';
import { S3BlobStore } from '#kinora/storage/s3/s3-blob-store.js';
import { quietLogger } from '../../support/logger.js';
import { writeMedia } from '../../support/media/fixture-media.js';
import { readFlvPackets, shiftPackets } from '../../support/media/flv-packets.js';
import { readFrameCounters } from '../../support/media/measure.js';
import { makeBucket } from '../../support/servers/s3-bucket.js';
import { until } from '../../support/servers/server-process.js';
import { type StrictS3Proxy, startStrictS3Proxy } from '../../support/servers/strict-s3-proxy.js';
import { type Swift, startSwift, swiftPath } from '../../support/servers/swift.js';

const SESSION_SECONDS = 6;
const FRAMES = SESSION_SECONDS * 30;
const SESSIONS = 14;

describe.runIf(swiftPath)('a recording that another server continues', () => {
  let swift: Swift;
  let proxy: StrictS3Proxy;
  let objects: ObjectClient;
  let reader: S3BlobStore;
  let root: string;
  let packets: readonly IngestPacket[];
  let assetId: string;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'kinora-takeover-'));
    swift = await startSwift();
    proxy = await startStrictS3Proxy(swift.url);
    await makeBucket(swift.settings('live'));
    objects = await ObjectClient.open(swift.settings('live', proxy.url));
    reader = await S3BlobStore.open({ objects, localDir: dirOf('reader'), maxLocalBytes: 2 ** 30 });
    const path = join(root, 'session.flv');
    const video = { encoder: 'libx264', width: 320, height: 180, rate: [30, 1], gop: 30, bFrames: 2 } as const;
    const x264 = 'scenecut=0:open-gop=0:threads=1:nal-hrd=cbr';
    const options = { preset: 'veryfast', b: '2M', maxrate: '2M', bufsize: '2M', 'x264-params': x264 };
    const audio = { encoder: 'aac', sampleRate: 48_000, channels: 2, bitRate: 96_000 } as const;
    writeMedia({ muxer: 'flv', seconds: SESSION_SECONDS, video: { ...video, options }, audio }, path);
    packets = readFlvPackets(path);
  });
  afterAll(async () => {
    objects?.close();
    await proxy?.stop();
    await swift?.close();
    await rm(root, { recursive: true, force: true });
  });

  beforeEach(({ task }) => {
    assetId = task.id.replaceAll('_', '-');
  });

  const dirOf = (name: string): string => join(root, name);
  const open = async (name: string, replica: { term: number; restores: boolean }): Promise<Recording> => {
    const blobs = await S3BlobStore.open({ objects, localDir: dirOf(name), maxLocalBytes: 2 ** 30 });
    return Recording.open({
      ...{ blobs, key: sourceKey(assetId), assetId, latencyMode: 'low', firstSequence: 0, firstDiscontinuity: 0 },
      ...{ clock: systemClock, logger: quietLogger, replica: { store: replicaStoreOf(blobs)!, ...replica } },
      events: {
        playable: () => undefined,
        forcedCut: () => undefined,
        problem: () => undefined,
        failed: (failure) => expect.fail(failure),
      },
    });
  };
  const write = async (recording: Recording, sessions: number): Promise<void> => {
    recording.beginSession(Date.now(), 'content');
    for (let at = 0; at < sessions; at += 1) {
      for (const packet of shiftPackets(packets, at * SESSION_SECONDS * 1000)) recording.write(packet);
      // What is replicated is written.
      await recording.catchUp(60_000);
    }
    recording.endSession();
  };
  const countersOf = (input: Parameters<typeof readFrameCounters>[0]): number[] =>
    readFrameCounters(input).map(({ counter }) => counter);
  const countersOfAsset = async (): Promise<number[]> => {
    const path = dirOf('asset.mp4');
    await writeFile(path, (await reader.read(sourceKey(assetId)))!);
    return countersOf(path);
  };
  const framesOf = (sessions: number): number[] =>
    Array.from({ length: sessions * FRAMES }, (_, index) => index % FRAMES);
  const readAll = async (recording: Recording): Promise<Uint8Array[]> => {
    const [name] = recording.trackNames as [string];
    const { segments } = recording.track(name)!;
    const listed = segments.filter(({ gap }) => !gap);
    const bytes: Uint8Array[] = [recording.init(name, segments[0]!.config)!];
    for (const { number } of listed) bytes.push((await recording.read(name, number))!);
    return bytes;
  };

  it('reads the index and the last seconds, gives viewers the rest, and is complete after kill -9', async () => {
    const first = await open('first', { term: 1, restores: false });
    await write(first, SESSIONS);
    const [name] = first.trackNames as [string];
    const { segments } = first.track(name)!;
    const before = await first.read(name, segments[0]!.number);
    expect(await first.suspend(60_000)).toBe(true);
    const recordedBytes = first.sizeBytes;
    expect(recordedBytes).toBeGreaterThan(20 * 2 ** 20);

    const second = await open('second', { term: 2, restores: true });
    // Six seconds of media, and an index of 56 bytes for each part.
    const { requests, bytes } = { ...proxy.gets };
    expect(bytes).toBeLessThan(3.5 * 2 ** 20);
    expect(requests).toBeLessThan(8);
    expect(second.track(name)!.segments.map(({ number }) => number)).toEqual(segments.map(({ number }) => number));
    // Whoever rewinds shares a read of a segment with others.
    const rewound = await Promise.all(Array.from({ length: 20 }, () => second.read(name, segments[0]!.number)));
    for (const each of rewound) expect(each).toEqual(before);
    expect(proxy.gets.bytes - bytes).toBeLessThan(2 ** 20);

    await write(second, 1);
    const partial = join(dirOf('second'), '.partial');
    await until('the end of the session is written', async () => {
      const sizes = (await readdir(partial)).map(async (file) => (await stat(join(partial, file))).size);
      return (await Promise.all(sizes)).includes(second.sizeBytes);
    });
    // As `kill -9` leaves it; what follows is of another process.
    await cp(dirOf('second'), dirOf('killed'), { recursive: true });
    await second.discard();
    const readBefore = proxy.gets.bytes;
    const third = await open('killed', { term: 3, restores: false });
    expect(third.isTakenOver).toBe(true);
    expect(proxy.gets.bytes - readBefore).toBeLessThan(2 ** 20);
    await write(third, 1);
    expect(countersOf(await readAll(third))).toEqual(framesOf(SESSIONS + 2));
    // The bucket is away while the file is completed, which is tried again.
    proxy.isAway = true;
    await expect(third.finish()).rejects.toMatchObject({ code: 'unavailable' });
    proxy.isAway = false;
    const finished = await third.finish();
    expect(finished!.durationSeconds).toBeCloseTo((SESSIONS + 2) * SESSION_SECONDS, 0);
    expect(await countersOfAsset()).toEqual(framesOf(SESSIONS + 2));
    expect(await readdir(join(dirOf('killed'), '.partial'))).toEqual([]);
    expect(proxy.violations).toEqual([]);
  });

  it('has what its owners wrote, whatever one that was lost wrote later, and without an index', async () => {
    const lost = await open('lost', { term: 1, restores: false });
    const writeAll = async (recording: Recording, sessions: number): Promise<void> => {
      await write(recording, sessions);
      await until('its end is replicated', async () => {
        await recording.catchUp(60_000);
        return (await listReplica(replicaStoreOf(reader)!, assetId)).sizeBytes >= recording.sizeBytes;
      });
    };
    await writeAll(lost, 3);
    const second = await open('second owner', { term: 2, restores: true });
    await write(lost, 1);
    await writeAll(second, 1);
    const third = await open('third owner', { term: 3, restores: true });
    proxy.refuses = /PUT .*\/index-/;
    await writeAll(third, 2);
    proxy.refuses = undefined;
    const last = await open('last owner', { term: 4, restores: true });
    await write(last, 1);
    expect(countersOf(await readAll(last))).toEqual(framesOf(7));
    await last.finish();
    expect(await countersOfAsset()).toEqual(framesOf(7));
    for (const recording of [lost, second, third]) await recording.discard();
  });
});
