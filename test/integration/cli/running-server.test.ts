import { cpSync, existsSync, lstatSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { DataDirLock } from '#kinora/db/data-dir-lock.js';
import { fixture } from '../../support/media/fixtures.js';
import { playAll } from '../../support/players/play.js';
import { runCli } from '../../support/processes/run-cli.js';
import { fillDataDir } from '../../support/servers/database.js';
import { cleanUpServers, startServer, until } from '../../support/servers/server-process.js';
import { createAsset, serveFiles, settled } from '../../support/wire/create-asset.js';

const directory = mkdtempSync(join(tmpdir(), 'kinora-running-'));
afterAll(async () => {
  await cleanUpServers();
  rmSync(directory, { recursive: true, force: true });
});

const succeed = async (args: readonly string[], dataDir: string): Promise<string> => {
  const { status, stdout, stderr } = await runCli(args, { KINORA_DATA_DIR: dataDir });
  expect(status, stderr).toBe(0);
  return stdout.trim();
};

const basic = (token: string) => ({ authorization: `Basic ${Buffer.from(token).toString('base64')}` });

describe('commands beside a running server', () => {
  it('manage tokens and environments, however long the path of the data directory is', async () => {
    // Longer than the path of a Unix socket may be.
    const dataDir = join(directory, 'a-long-name-'.repeat(12), 'data');
    await fillDataDir(dataDir);
    const server = await startServer({ dataDir });
    expect(lstatSync(join(dataDir, 'control.sock')).mode & 0o777).toBe(0o600);

    const environment = await succeed(['env', 'create', 'Staging', '--video-quality', 'plus'], dataDir);
    await succeed(['env', 'update', environment, '--video-quality', 'premium'], dataDir);
    const token = await succeed(['token', 'create', '--name', 'ci', '--environment', environment], dataDir);
    const whoami = () => fetch(`${server.url}/system/v1/whoami`, { headers: basic(token) });
    expect(await (await whoami()).json()).toMatchObject({ data: { environment_id: environment } });
    expect(await runCli(['env', 'create', 'Staging'], { KINORA_DATA_DIR: dataDir })).toMatchObject({
      status: 1,
      stderr: 'kinora: An environment with the name Staging already exists.\n',
    });
    await succeed(['token', 'revoke', token.split(':')[0]!], dataDir);
    await expect.poll(async () => (await whoami()).status).toBe(401);

    const lists = async () => [await succeed(['token', 'list'], dataDir), await succeed(['env', 'list'], dataDir)];
    const beside = await lists();
    expect(beside[1]).toMatch(/Staging +production +premium/);
    await server.stop();
    expect(await lists()).toEqual(beside);
  });

  it('work again without the server after it was killed', async () => {
    const dataDir = join(directory, 'killed');
    const server = await startServer({ dataDir });
    await server.kill();
    expect(existsSync(join(dataDir, 'control.sock'))).toBe(true);
    await succeed(['token', 'list'], dataDir);
    await succeed(['backup', join(directory, 'after-kill')], dataDir);
    await (await startServer({ dataDir })).stop();
  });

  it('save a backup of one moment while requests are served, and it starts', async () => {
    const origin = await serveFiles([await fixture('h264-aac.mp4')]);
    const dataDir = join(directory, 'busy');
    const server = await startServer({ dataDir });
    const created = await createAsset(server, {
      inputs: [{ url: `${origin.url}/0` }],
      playback_policies: ['public'],
    });
    const asset = await settled(server, created.id);
    const headers = { ...basic(`${server.token.id}:${server.token.secret}`), 'content-type': 'application/json' };
    const uploads: string[] = [];
    let isSaved = false;
    const write = async (): Promise<void> => {
      while (!isSaved) {
        const response = await fetch(`${server.url}/video/v1/uploads`, {
          method: 'POST',
          headers,
          body: '{"new_asset_settings":{}}',
        });
        expect(response.status).toBe(201);
        uploads.push(((await response.json()) as { data: { id: string } }).data.id);
      }
    };
    const writing = write();
    await expect.poll(() => uploads.length).toBeGreaterThan(3);
    const before = [...uploads];
    const saved = join(directory, 'saved');
    await succeed(['backup', saved], dataDir).finally(() => {
      isSaved = true;
    });
    await writing;
    await until(
      'the copy of the database is removed',
      () => !readdirSync(dataDir).some((name) => name.startsWith('snapshot-')),
    );
    expect(readdirSync(join(saved, 'data')).sort()).toEqual(['blobs', 'db']);
    await server.stop();

    const restored = join(directory, 'restored');
    await succeed(['restore', saved], restored);
    const again = await startServer({ dataDir: restored });
    const known = async (id: string) => (await fetch(`${again.url}/video/v1/uploads/${id}`, { headers })).status;
    for (const id of before) expect(await known(id)).toBe(200);
    // One moment: what was written before the last one of the backup is in it too.
    const statuses = await Promise.all(uploads.map(known));
    expect(statuses).toEqual([...statuses].sort());
    await playAll(again.url, asset.playback_ids![0]!.id);
    await again.stop();
    await origin.stop();
  });

  it('save the database alone, which is restored beside a copy of the videos', async () => {
    const path = await fixture('h264-aac.mp4');
    const origin = await serveFiles([path]);
    const dataDir = join(directory, 'filled');
    const server = await startServer({ dataDir });
    const { id } = await createAsset(server, { inputs: [{ url: `${origin.url}/0` }], playback_policies: ['public'] });
    const asset = await settled(server, id);
    const figures = JSON.parse(await succeed(['stats', '--json'], dataDir));
    expect(figures.source_bytes).toBe(statSync(path).size);
    expect(figures.stored_bytes).toBeGreaterThan(figures.source_bytes);
    expect(await succeed(['stats'], dataDir)).toMatch(/^stored files +0\.00 GB, of which 0\.00 GB are sources$/m);

    const saved = join(directory, 'database');
    await succeed(['backup', saved, '--database-only'], dataDir);
    expect(readdirSync(join(saved, 'data'))).toEqual(['db']);
    await server.stop();

    const copy = join(directory, 'copy');
    cpSync(join(dataDir, 'blobs'), join(copy, 'blobs'), { recursive: true });
    await succeed(['restore', saved], copy);
    const again = await startServer({ dataDir: copy });
    await playAll(again.url, asset.playback_ids![0]!.id);
    await again.stop();
    expect(await runCli(['restore', saved], { KINORA_DATA_DIR: copy })).toMatchObject({
      status: 2,
      stderr: expect.stringContaining(`${copy} has a database`),
    });
    await origin.stop();
  });

  it('let doctor judge the server instead of its own flags', async () => {
    const dataDir = join(directory, 'examined');
    const server = await startServer({ dataDir, options: { ALLOW_PRIVATE_SOURCES: 'true', RANGE_SOURCES: 'false' } });
    const { status, stdout } = await runCli(['doctor'], { KINORA_DATA_DIR: dataDir });
    expect(status).toBe(0);
    expect(stdout).toContain(`process ID ${server.process.pid}\n`);
    const { sandbox } = server.log().find(({ msg }) => msg === 'server started') ?? {};
    expect(stdout).toContain(`Media processes of the server: ${sandbox}\n`);
    expect(stdout).toContain('warn  Imports may reach every private address');
    expect(stdout).toContain('ok    Imports and uploads play when they are stored (KINORA_RANGE_SOURCES is false)');
    expect(stdout).toContain('Database: pglite, open in the server');
    expect(stdout).toContain(`${server.url}/readyz answers`);
    await server.stop();
    expect((await runCli(['doctor', '--port', '0'], { KINORA_DATA_DIR: dataDir })).stdout).not.toContain(
      'every private',
    );
  });
});

it('a refused backup leaves nothing that blocks the next one', async () => {
  const dataDir = mkdtempSync(join(directory, 'held-'));
  const target = join(directory, 'refused');
  const lock = await DataDirLock.acquire(dataDir, () => undefined);
  try {
    expect(await runCli(['backup', target], { KINORA_DATA_DIR: dataDir })).toMatchObject({ status: 75 });
    expect(existsSync(target)).toBe(false);
  } finally {
    await lock.release();
  }
  expect(await runCli(['backup', target], { KINORA_DATA_DIR: dataDir })).toMatchObject({ status: 0 });
});
