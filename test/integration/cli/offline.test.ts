import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { runCli } from '../../support/processes/run-cli.js';
import { fillDataDir } from '../../support/servers/database.js';

const directory = mkdtempSync(join(tmpdir(), 'kinora-cli-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const succeed = async (args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> => {
  const { status, stdout, stderr } = await runCli(args, env);
  expect(status, stderr).toBe(0);
  return stdout.trim();
};

const takePort = async (): Promise<{ port: string; close: () => void }> => {
  const other = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  return { port: String((other.address() as AddressInfo).port), close: () => void other.close() };
};

describe('commands on a data directory without a server', () => {
  it('manage environments and tokens, and survive a backup', async () => {
    const dataDir = join(directory, 'data');
    await fillDataDir(dataDir);
    mkdirSync(join(dataDir, 'cache'));
    writeFileSync(join(dataDir, 'cache', 'segment'), 'made again when needed');
    writeFileSync(join(dataDir, 'token'), 'kept\n');
    const env = { KINORA_DATA_DIR: dataDir };

    const id = await succeed(['env', 'create', 'Staging', '--type', 'development'], env);
    expect(id).toMatch(/^[a-z0-9]{6}$/);
    const again = await runCli(['env', 'create', 'Staging'], env);
    expect(again).toMatchObject({ status: 1, stderr: expect.stringContaining('already exists') });

    const token = await succeed(
      ['token', 'create', '--name', 'ci', '--environment', id, '--permissions', 'video:read'],
      env,
    );
    const [tokenId, secret] = token.split(':');
    expect(secret).toHaveLength(75);
    const list = await succeed(['token', 'list'], env);
    expect(list).toMatch(new RegExp(`^${tokenId}  ci +${id} .*  -  +video:read$`, 'm'));
    expect(list).not.toContain(secret);
    expect(await runCli(['token', 'create', '--permissions', 'all'], env)).toMatchObject({ status: 1 });

    await succeed(['token', 'revoke', tokenId!], env);
    expect(await succeed(['token', 'list'], env)).not.toMatch(/ {2}- {2,}video:read$/m);
    expect(await runCli(['token', 'revoke', tokenId!], env)).toMatchObject({ status: 1 });

    const saved = join(directory, 'backup');
    await succeed(['backup', saved], env);
    expect(await runCli(['backup', saved], env)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('not empty'),
    });
    expect(await runCli(['backup', join(dataDir, 'inside')], env)).toMatchObject({ status: 2 });
    expect(await runCli(['restore', saved], env)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('not empty'),
    });

    const restored = { KINORA_DATA_DIR: join(directory, 'restored') };
    await succeed(['restore', saved], restored);
    expect(await succeed(['token', 'list'], restored)).toBe(await succeed(['token', 'list'], env));
    expect(readFileSync(join(restored.KINORA_DATA_DIR, 'token'), 'utf8')).toBe('kept\n');
    expect(() => readFileSync(join(saved, 'data', 'cache', 'segment'))).toThrow('ENOENT');
  });

  it('refuse half a backup', async () => {
    const half = join(directory, 'half');
    mkdirSync(join(half, 'data'), { recursive: true });
    const result = await runCli(['restore', half], { KINORA_DATA_DIR: join(directory, 'from-half') });
    expect(result).toMatchObject({ status: 1, stderr: expect.stringContaining('not a complete backup') });
  });

  it('say when there is no data directory', async () => {
    const result = await runCli(['token', 'list'], { KINORA_DATA_DIR: join(directory, 'nowhere') });
    expect(result).toMatchObject({ status: 1, stderr: expect.stringContaining('Start the server once') });
  });
});

describe('kinora doctor', () => {
  it('finds nothing to fail on a fresh machine', async () => {
    const { status, stdout } = await runCli(['doctor', '--port', '0'], { KINORA_DATA_DIR: join(directory, 'fresh') });
    expect(stdout).toContain('ok    FFmpeg works');
    expect(stdout).toContain('Media processes: ');
    expect(stdout).not.toMatch(/^fail/m);
    expect(status).toBe(0);
  });

  it('warns of a data directory that others can look into, and Kinora makes none', async () => {
    const env = { KINORA_DATA_DIR: join(directory, 'rights', 'data') };
    expect(await runCli(['env', 'list'], env)).toMatchObject({ status: 1 });
    // The directory is the first that a start makes.
    const { port, close } = await takePort();
    expect(await runCli(['serve', '--port', port], env)).toMatchObject({ status: 1 });
    close();
    expect(statSync(env.KINORA_DATA_DIR).mode & 0o777).toBe(0o700);
    await fillDataDir(env.KINORA_DATA_DIR);
    const backup = join(directory, 'rights', 'backup');
    chmodSync(env.KINORA_DATA_DIR, 0o755);
    expect(await runCli(['backup', backup], env)).toMatchObject({ status: 0 });
    const restored = join(directory, 'rights', 'restored');
    expect(await runCli(['restore', backup], { KINORA_DATA_DIR: restored })).toMatchObject({ status: 0 });
    for (const made of [backup, join(backup, 'data'), restored]) expect(statSync(made).mode & 0o777, made).toBe(0o700);
    const warning = /^warn {2}Other users .*\n {6}-> .*chmod -R go= /m;
    expect((await runCli(['doctor', '--port', '0'], env)).stdout).toMatch(warning);
    expect((await runCli(['doctor', '--port', '0'], { KINORA_DATA_DIR: restored })).stdout).not.toMatch(warning);
    expect(statSync(env.KINORA_DATA_DIR).mode & 0o777).toBe(0o755);
  });

  it('says which program setting to change when the port is taken', async () => {
    const { port, close } = await takePort();
    const { status, stdout } = await runCli(['doctor'], {
      KINORA_DATA_DIR: join(directory, 'fresh'),
      KINORA_PORT: port,
    });
    close();
    expect(status).toBe(1);
    expect(stdout).toMatch(
      new RegExp(`^fail  127.0.0.1:${port} is not available \\(EADDRINUSE\\)\n {6}-> .*KINORA_PORT`, 'm'),
    );
  });

  it('reports a database that can not be reached, without its password', async () => {
    const { status, stdout, stderr } = await runCli(['doctor', '--port', '0'], {
      KINORA_DATA_DIR: join(directory, 'fresh'),
      KINORA_DATABASE_URL: 'postgres://kinora:hunter2@127.0.0.1:1/kinora',
    });
    expect(status).toBe(1);
    expect(stdout).toMatch(/^fail {2}Database: .* can't be used now \(connect ECONNREFUSED/m);
    expect(stdout.match(/^fail/gm)).toHaveLength(1);
    expect(stdout).not.toMatch(/DRM|restore/);
    expect(`${stdout}${stderr}`).not.toContain('hunter2');
  });
});
