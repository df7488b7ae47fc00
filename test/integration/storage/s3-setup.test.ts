import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ObjectClient } from '#kinora/storage/s3/object-client.js';
import { fixture } from '../../support/media/fixtures.js';
import { memoryLogger } from '../../support/memory-logger.js';
import { runCli } from '../../support/processes/run-cli.js';
import { boot } from '../../support/servers/boot.js';
import { makeTestDataDir } from '../../support/servers/database.js';
import type { Origin } from '../../support/servers/origin.js';
import { makeBucket } from '../../support/servers/s3-bucket.js';
import { until } from '../../support/servers/server-process.js';
import { startStrictS3Proxy } from '../../support/servers/strict-s3-proxy.js';
import { type Swift, startSwift, swiftCredentials, swiftPath } from '../../support/servers/swift.js';
import { createAsset, serveFiles, settled } from '../../support/wire/create-asset.js';

describe.runIf(swiftPath)('the setup of blobs in S3', () => {
  let swift: Swift;
  let origin: Origin;
  let folder: string;
  let dataDir: string;
  let objects: ObjectClient;
  let options: Record<string, string>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kinora-s3-setup-'));
    swift = await startSwift();
    await makeBucket(swift.settings('setup'));
    objects = await ObjectClient.open(swift.settings('setup'));
    origin = await serveFiles([await fixture('h264-aac.mp4')]);
    dataDir = await makeTestDataDir();
    options = {
      BLOBS: 's3://setup/kinora',
      S3_ENDPOINT: swift.url,
      S3_ACCESS_KEY_ID: swiftCredentials.accessKeyId,
      S3_SECRET_ACCESS_KEY: swiftCredentials.secretAccessKey,
    };
  });
  afterAll(async () => {
    objects?.close();
    await origin?.stop();
    await swift?.close();
    for (const path of [folder, dataDir]) if (path) await rm(path, { recursive: true, force: true });
  });

  const variables = (given: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(given).map(([name, value]) => [`KINORA_${name}`, value]));

  it.each<[string, () => Promise<Record<string, string>>, RegExp]>([
    [
      'another bucket',
      async () => ({ BLOBS: 's3://nowhere' }),
      /bucket nowhere does not exist. Create it or correct KINORA_BLOBS/,
    ],
    [
      'a wrong secret',
      async () => ({ S3_SECRET_ACCESS_KEY: 'wrong' }),
      /Correct KINORA_S3_ACCESS_KEY_ID and KINORA_S3_SECRET_ACCESS_KEY/,
    ],
    [
      'another region',
      async () => ({ S3_REGION: 'eu-west-1' }),
      /not in the region eu-west-1. Correct KINORA_S3_REGION/,
    ],
    [
      'an unknown name',
      async () => ({ S3_ENDPOINT: 'http://nowhere.invalid' }),
      /does not resolve. Correct KINORA_S3_ENDPOINT/,
    ],
  ])('does not start with %s, and says what to change', async (_title, changes, message) => {
    const start = boot({ options: { ...options, ...(await changes()) } });
    await expect(start).rejects.toMatchObject({ code: 'config_invalid', message: expect.stringMatching(message) });
  });

  it('waits at its start for a service that is away, and names it in the log and in doctor', async () => {
    const proxy = await startStrictS3Proxy(swift.url);
    proxy.isAway = true;
    const logger = memoryLogger();
    const starting = boot({ options: { ...options, S3_ENDPOINT: proxy.url }, logger });
    const isTold = () => logger.lines.find(({ message }) => message === 'S3 is unavailable, trying again');
    await until('the log says so', isTold);
    expect(isTold()?.fields.reason).toMatch(
      /does not answer \(ECONNRESET\). Start the service or correct KINORA_S3_ENDPOINT/,
    );
    const checked = await runCli(['doctor'], variables({ ...options, DATA_DIR: dataDir, S3_ENDPOINT: proxy.url }));
    expect(checked.stdout).toMatch(/fail {2}s3:\/\/setup\/kinora at .* does not answer \(ECONNRESET\)/);
    proxy.isAway = false;
    const server = await starting;
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    await server.stop();
    await proxy.stop();
  });

  it('remembers the bucket, and refuses other places', async () => {
    const directory = await makeTestDataDir();
    await (await boot({ dataDir: directory, options })).stop();
    for (const other of [{}, { ...options, BLOBS: 's3://setup/other' }])
      await expect(boot({ dataDir: directory, options: other })).rejects.toThrow(
        'are in s3://setup/kinora: set KINORA_BLOBS to it',
      );
    await rm(directory, { recursive: true });
  });

  it('does not hide the videos of a data directory', async () => {
    const directory = await makeTestDataDir();
    await mkdir(join(directory, 'blobs', 'assets', 'a'), { recursive: true });
    await writeFile(join(directory, 'blobs', 'assets', 'a', 'source'), 'bytes');
    await expect(boot({ dataDir: directory, options })).rejects.toThrow(
      'copy this directory to s3://setup/kinora/assets',
    );
    await rm(directory, { recursive: true });
  });

  it('is checked by doctor, backed up as a list, and restored', async () => {
    const server = await boot({ dataDir, options });
    const asset = await createAsset(server, {
      inputs: [{ url: `${origin.url}/0` }],
      playback_policies: ['public'],
    });
    await settled(server, asset.id);
    const env = variables({ ...options, DATA_DIR: dataDir });
    const checked = await runCli(['doctor'], env);
    expect(checked.stdout).toContain(`ok    Blobs: s3://setup/kinora at ${swift.url}, readable and writable`);
    const figures = JSON.parse((await runCli(['stats', '--json'], env)).stdout);
    expect(figures.source_bytes).toBe((await objects.stat(`assets/${asset.id}/source`))!.sizeBytes);
    expect(figures.stored_bytes).toBeGreaterThan(figures.source_bytes);
    const backup = join(folder, 'backup');
    const saved = await runCli(['backup', backup], env);
    expect([saved.status, saved.stderr]).toEqual([0, '']);
    await server.stop();
    const listed = await readFile(join(backup, 'objects.tsv'), 'utf8');
    expect(listed).toContain(`\tassets/${asset.id}/source\n`);
    const restored = join(folder, 'restored');
    const refused = await runCli(['restore', backup], variables({ DATA_DIR: restored }));
    expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('set KINORA_BLOBS')]);
    const target = variables({ ...options, DATA_DIR: restored });
    expect((await runCli(['restore', backup], target)).stdout).toMatch(/All \d+ objects are in s3:/);
    const again = await boot({ dataDir: restored, options });
    expect((await fetch(`${again.url}/${asset.playback_ids![0]!.id}.m3u8`)).status).toBe(200);
    await again.stop();
    await objects.delete(`assets/${asset.id}/source`);
    const third = variables({ ...options, DATA_DIR: join(folder, 'third') });
    const { stdout } = await runCli(['restore', backup], third);
    expect(stdout).toMatch(/1 of \d+ objects are missing/);
    expect(stdout).toContain(`  assets/${asset.id}/source\n`);
  });
});
