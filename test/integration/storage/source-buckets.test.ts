import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createServerCalls } from '#kinora/cli/import/server-calls.js';
import { newId } from '#kinora/lib/ids.js';
import { DiskBlobStore } from '#kinora/storage/disk/disk-blob-store.js';
import { sourceKey } from '#kinora/storage/keys.js';
import { LinkedSourceStore } from '#kinora/storage/s3/linked-source-store.js';
import { ObjectClient } from '#kinora/storage/s3/object-client.js';
import { createLogger } from '#kinora/telemetry/logger.js';
import { type FixtureName, fixture } from '../../support/media/fixtures.js';
import { fetchBytes, mediaPlaylists, playAll, segmentsOf } from '../../support/players/play.js';
import { runCli } from '../../support/processes/run-cli.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { makeTestDataDir } from '../../support/servers/database.js';
import type { Origin } from '../../support/servers/origin.js';
import { makeBucket } from '../../support/servers/s3-bucket.js';
import { filesBelow } from '../../support/servers/server-process.js';
import { type StrictS3Proxy, startStrictS3Proxy } from '../../support/servers/strict-s3-proxy.js';
import { type Swift, startSwift, swiftCredentials, swiftPath } from '../../support/servers/swift.js';
import { api, createAsset, getAsset, serveFiles, settled, type WireAsset } from '../../support/wire/create-asset.js';
import { expectError } from '../../support/wire/expect-error.js';
import { filesOf, withFiles } from '../../support/wire/static-renditions.js';

/**
 * Prepared from parts, and from the whole file: no index in front, other containers, video that is
 * transcoded first.
 */
const BY_PARTS = ['long-index-first.mp4', 'long-index-last.mov'] as const;
const SOURCES: readonly FixtureName[] = [...BY_PARTS, 'long-h264-aac.mkv', 'mpeg2-ac3.ts', 'one-key-frame.mp4'];

describe.runIf(swiftPath)('sources in buckets of KINORA_SOURCE_BUCKETS', () => {
  let swift: Swift;
  let proxy: StrictS3Proxy;
  let origin: Origin;
  let server: Booted;
  let reference: Booted;
  let dataDir: string;
  let masters: ObjectClient;
  let options: Record<string, string>;
  const token = { id: '11111111-2222-4333-8444-555555555555', secret: 'secret-of-the-test' };

  const put = async (key: string, name: FixtureName) => masters.put(key, await readFile(await fixture(name)));
  beforeAll(async () => {
    swift = await startSwift();
    proxy = await startStrictS3Proxy(swift.url);
    await makeBucket(swift.settings('masters'));
    masters = await ObjectClient.open({ ...swift.settings('masters'), prefix: '' });
    for (const name of SOURCES) await put(`films/${name}`, name);
    origin = await serveFiles(await Promise.all(SOURCES.map((name) => fixture(name))));
    dataDir = await makeTestDataDir();
    options = {
      SOURCE_BUCKETS: 's3://masters/films, s3://other-masters',
      S3_ENDPOINT: proxy.url,
      S3_ACCESS_KEY_ID: swiftCredentials.accessKeyId,
      S3_SECRET_ACCESS_KEY: swiftCredentials.secretAccessKey,
    };
    server = await boot({ dataDir, token, options });
    reference = await boot({ token });
  });
  afterAll(async () => {
    await Promise.all([server?.stop(), reference?.stop()]);
    masters?.close();
    await origin?.stop();
    await proxy?.stop();
    await swift?.close();
  });

  const create = (on: Booted, url: string, fields = {}): Promise<WireAsset> =>
    createAsset(on, { inputs: [{ url }], playback_policies: ['public'], ...fields });
  const inBucket = (name: string): string => `s3://masters/films/${name}`;
  const idOf = (asset: WireAsset): string => asset.playback_ids![0]!.id;
  const play = async (on: Booted, asset: WireAsset): Promise<string[]> =>
    Object.values(await playAll(on.url, idOf(asset))).sort();
  /** Whole files below the blobs, but not copies of parts. */
  const storedBytes = async (): Promise<number> => {
    const blobs = join(dataDir, 'blobs');
    const paths = filesBelow(blobs).filter((path) => !path.includes('.linked'));
    const sizes = await Promise.all(paths.map(async (path) => (await stat(join(blobs, path))).size));
    return sizes.reduce((sum, size) => sum + size, 0);
  };
  const assets = new Map<FixtureName, WireAsset>();
  const references = new Map<FixtureName, WireAsset>();

  it.each(SOURCES)('plays %s as if it was downloaded', async (name) => {
    const { length: sizeBytes } = await readFile(await fixture(name));
    const before = await storedBytes();
    const bytesBefore = proxy.bytesOf(name);
    const [made, expected] = await Promise.all([
      create(server, inBucket(name)),
      create(reference, `${origin.url}/${SOURCES.indexOf(name)}`),
    ]);
    const asset = await settled(server, made.id);
    expect((await settled(reference, expected.id)).status).toBe('ready');
    expect([asset.status, asset.errors]).toEqual(['ready', undefined]);
    if (BY_PARTS.some((one) => one === name)) {
      expect(proxy.bytesOf(name) - bytesBefore).toBeLessThan(0.8 * sizeBytes);
      expect((await storedBytes()) - before).toBeLessThan(sizeBytes / 10);
    }
    expect(await play(server, made)).toEqual(await play(reference, expected));
    assets.set(name, asset);
    references.set(name, expected);
  });

  it('makes static renditions, masters, images and clips from it', async () => {
    const fields = { static_renditions: [{ resolution: 'highest' }] };
    const { id } = await create(server, inBucket('long-index-first.mp4'), fields);
    const asset = await withFiles(server, id);
    expect(filesOf(asset).map(({ status }) => status)).toEqual(['ready']);
    expect((await fetchBytes(`${server.url}/${idOf(asset)}/${filesOf(asset)[0]!.name}`)).length).toBeGreaterThan(1000);
    expect((await fetchBytes(`${server.url}/${idOf(asset)}/thumbnail.jpg?time=7`)).length).toBeGreaterThan(1000);
    const clip = await create(server, `mux://assets/${id}`, {
      inputs: [{ url: `mux://assets/${id}`, start_time: 3, end_time: 6 }],
    });
    expect((await settled(server, clip.id)).status).toBe('ready');
    await api(server, 'DELETE', `/video/v1/assets/${id}`);
    expect((await play(server, clip)).length).toBeGreaterThan(3);
  });

  it('refuses what it must not read', async () => {
    const refused = async (body: object, message: string): Promise<void> =>
      expectError(await api(server, 'POST', '/video/v1/assets', body), 400, 'invalid_parameters', [message]);
    const outside = 'inputs[0].url is not in a bucket that KINORA_SOURCE_BUCKETS names';
    for (const url of ['s3://masters/a.mp4', 's3://masters/films-2/a.mp4', 's3://secrets/films/a.mp4'])
      await refused({ inputs: [{ url }] }, outside);
    await refused({ inputs: [{ url: 's3://masters/films/../a.mp4' }] }, 'inputs[0].url must be a valid URL');
    const text = { url: inBucket('a.vtt'), type: 'text', text_type: 'subtitles', language_code: 'en' };
    const main = { url: inBucket('long-index-first.mp4') };
    await refused({ inputs: [main, text] }, 'inputs[1].url cannot refer to a bucket');
    await refused(
      { inputs: [{ ...main, start_time: 1 }] },
      'inputs[0].start_time is only allowed when url refers to an asset',
    );
    await expectError(await api(reference, 'POST', '/video/v1/assets', { inputs: [main] }), 400, 'invalid_parameters', [
      outside,
    ]);
  });

  it('opens no object outside the buckets, whatever names it', async () => {
    await makeBucket(swift.settings('secrets'));
    const secrets = await ObjectClient.open({ ...swift.settings('secrets'), prefix: '' });
    await secrets.put('payroll.mp4', await readFile(await fixture('long-index-first.mp4')));
    const logger = createLogger('error', 'json');
    const secret = { bucket: 'secrets', key: 'payroll.mp4' };
    const dir = await mkdtemp(join(tmpdir(), 'kinora-linked-'));
    const open = (bucket: string) =>
      LinkedSourceStore.open({
        ...{ blobs: new DiskBlobStore(dir), logger, dir: join(dir, '.linked'), maxLocalBytes: 2 ** 30 },
        allowedPaths: [{ bucket, prefix: '' }],
        clientOf: async () => secrets,
      });
    const key = sourceKey('an-asset');
    const wide = await open('secrets');
    await wide.link(key, { ...secret, ...(await wide.find(secret))! });
    expect(await wide.stat(key)).toBeDefined();
    const narrow = await open('masters');
    await expect(narrow.find(secret)).rejects.toMatchObject({ code: 'invalid_input' });
    expect(await narrow.stat(key)).toBeUndefined();
    expect(await narrow.read(key)).toBeUndefined();
    await expect(narrow.openLocal(key, [])).rejects.toMatchObject({ code: 'not_found' });
    secrets.close();
    await rm(dir, { recursive: true });
  });

  it.each([
    's3://masters/films/long-index-first.mp4',
    's3://secrets/payroll.mp4',
    'mux://assets/abc',
    'file:///etc/hosts',
  ])('is not reached by a server from which assets are imported: %s', async (url) => {
    const { signal } = new AbortController();
    const call = createServerCalls({ dataDir, signal, onUnavailable: () => undefined });
    const { id: environmentId } = await call('import target', {});
    const order = { environmentId, sourceUrl: 'https://source.example', id: newId(), url: 'https://source.example/a' };
    const lists = { playbackIds: [], tracks: [], renditions: [] };
    const rest = { createdAtSeconds: 0, mainTracks: {}, mainAudio: {}, settings: {} as never };
    const track = { id: newId(), type: 'text', url, name: 'a', languageCode: 'en' } as const;
    for (const changed of [{ url }, { tracks: [track] }, { tracks: [{ ...track, isPlaylist: true as const }] }])
      await expect(call('import asset', { ...order, ...lists, ...rest, ...changed })).rejects.toMatchObject({
        code: 'invalid_parameters',
        messages: [expect.stringContaining('not an HTTP or HTTPS URL')],
      });
  });

  it('is tried by kinora doctor', async () => {
    const settings = { ...options, DATA_DIR: join(dataDir, 'none'), SOURCE_BUCKETS: 's3://masters/films,s3://no-such' };
    const env = Object.fromEntries(Object.entries(settings).map(([name, value]) => [`KINORA_${name}`, value]));
    const { stdout } = await runCli(['doctor'], env);
    expect(stdout).toContain(`ok    Source bucket: s3://masters/films at ${proxy.url}, readable`);
    expect(stdout).toMatch(/fail .*no-such/);
  });

  it('says what is wrong with the object', async () => {
    await masters.put('films/empty.mp4', new Uint8Array());
    await masters.put('films/text.mp4', Buffer.from('no video at all'));
    for (const [key, message] of [
      ['missing.mp4', 'The input file could not be read: the bucket has no object with this key.'],
      ['empty.mp4', 'The input file is empty.'],
    ]) {
      const asset = await settled(server, (await create(server, inBucket(key!))).id);
      expect([key, asset.status, asset.errors?.messages]).toEqual([key, 'errored', [message]]);
    }
    const asset = await settled(server, (await create(server, inBucket('text.mp4'))).id);
    expect([asset.status, asset.errors?.type]).toEqual(['errored', 'invalid_input']);
  });

  it('reads no other version of the object, plays what is cached, and leaves the object alone', async () => {
    const name = 'long-index-first.mp4';
    await put(`films/changing.mp4`, name);
    const made = await settled(server, (await create(server, inBucket('changing.mp4'))).id);
    const [first] = await mediaPlaylists(server.url, idOf(made));
    const segments = await segmentsOf(first!);
    await fetchBytes(segments[1]!);
    await server.stop();
    await put(`films/changing.mp4`, 'long-index-last.mov');
    server = await boot({ dataDir, token, options });
    const at = (url: string) => server.url + new URL(url).pathname;
    await fetchBytes(at(segments[1]!));
    const response = await fetch(at(segments.at(-1)!));
    expect(response.status).toBe(404);
    expect((await api(server, 'DELETE', `/video/v1/assets/${made.id}`)).status).toBe(204);
    for (const asset of assets.values()) await api(server, 'DELETE', `/video/v1/assets/${asset.id}`);
    expect((await getAsset(server, made.id).catch(() => undefined))?.status).toBeUndefined();
    for (const key of [...SOURCES, 'changing.mp4']) expect(await masters.stat(`films/${key}`)).toBeDefined();
  });

  it('also beside blobs in S3, which have no copy either', async () => {
    await makeBucket(swift.settings('blobs'));
    const objects = await ObjectClient.open({ ...swift.settings('blobs'), prefix: '' });
    const other = await boot({ token, options: { ...options, BLOBS: 's3://blobs/kinora' } });
    const made = await settled(other, (await create(other, inBucket('long-index-last.mov'))).id);
    expect(made.status).toBe('ready');
    expect(await play(other, made)).toEqual(await play(reference, references.get('long-index-last.mov')!));
    const keys: string[] = [];
    for await (const { key } of objects.list(`kinora/assets/${made.id}/`)) keys.push(key.split('/').at(-1)!);
    expect(keys.sort()).toEqual(['index.bin', 'source-link.json']);
    await other.stop();
    objects.close();
  });
});
