import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { bootstrap } from '#kinora/domain/access/bootstrap.js';
import { systemClock } from '#kinora/lib/clock.js';
import { runCli, startCli } from '../../support/processes/run-cli.js';
import { fillDataDir, makeTestDataDir, openTestDatabase } from '../../support/servers/database.js';
import { cleanUpServers, makeDataDir, startServer, until } from '../../support/servers/server-process.js';

afterAll(cleanUpServers);

const statusWith = async (url: string, token: string): Promise<number> => {
  const authorization = `Basic ${Buffer.from(token).toString('base64')}`;
  return (await fetch(`${url}/system/v1/whoami`, { headers: { authorization } })).status;
};

/** Everything below a directory that its group or others have rights on. */
const looseBelow = (directory: string): string[] =>
  ['', ...readdirSync(directory, { recursive: true })]
    .map((name) => join(directory, String(name)))
    .filter((path) => (lstatSync(path).mode & 0o077) !== 0);

describe('the first start', () => {
  it('leaves nothing behind when its port is taken, and gives the token out later', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const dataDir = makeDataDir();
    const env = { KINORA_DATA_DIR: dataDir, KINORA_SAMPLE: 'false' };
    const refused = await runCli(['serve', '--port', String((other.address() as AddressInfo).port)], env);
    other.close();
    expect(refused).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('another program listens there: stop it or set KINORA_PORT.'),
    });
    expect(readdirSync(dataDir)).toEqual(['lock']);
    await fillDataDir(dataDir);
    const server = await startServer({ dataDir, options: { TOKEN: undefined } });
    const token = /Access token +(\S+)/.exec(server.output())?.[1] ?? '';
    expect(await statusWith(server.url, token)).toBe(200);
    await server.stop();
  });

  it('has its token in the file when it is killed as soon as there is one', async () => {
    const dataDir = makeDataDir();
    // The token is made after the database.
    await fillDataDir(dataDir);
    const path = join(dataDir, 'token');
    const first = startCli(['serve'], { KINORA_DATA_DIR: dataDir, KINORA_SAMPLE: 'false', KINORA_PORT: '0' });
    await until('there is a token', () => existsSync(path) && readFileSync(path, 'utf8').endsWith('\n'));
    first.child.kill('SIGKILL');
    await first.exited;
    const server = await startServer({ dataDir, options: { TOKEN: undefined } });
    expect(await statusWith(server.url, readFileSync(path, 'utf8').trim())).toBe(200);
    expect(server.output()).toContain(`$(cat '${path}')`);
    await server.stop();
  });

  it('ends at once when it is asked to stop before it is up', async () => {
    const dataDir = makeDataDir();
    const server = startCli(['serve'], { KINORA_DATA_DIR: dataDir, KINORA_SAMPLE: 'false', KINORA_PORT: '0' });
    await until('it has begun', () => existsSync(join(dataDir, 'cache')));
    server.child.kill('SIGTERM');
    expect(await server.exited).toBe(0);
    expect(server.output()).toBe('');
  });
});

describe('the first token', () => {
  it('is the one of the file when the start that wrote it never committed', async () => {
    const { database, dataDir, close } = await openTestDatabase();
    const cut = {
      ...database,
      transaction: <T>(work: Parameters<typeof database.transaction<T>>[0]) =>
        database.transaction<T>(async (tx) => {
          await work(tx);
          throw new Error('killed');
        }),
    };
    await expect(bootstrap(cut, { dataDir }, systemClock)).rejects.toThrow('killed');
    const written = readFileSync(join(dataDir, 'token'), 'utf8').trim();
    expect(await bootstrap(database, { dataDir }, systemClock)).toEqual({ firstStart: true, newToken: written });
    await close();
  });

  it('is not in the database when its file cannot be written', async () => {
    const { database, dataDir, close } = await openTestDatabase();
    await expect(bootstrap(database, { dataDir: join(dataDir, 'nowhere') }, systemClock)).rejects.toThrow('ENOENT');
    expect(await bootstrap(database, { dataDir }, systemClock)).toMatchObject({ firstStart: true });
    await close();
  });
});

describe('a data directory', () => {
  it('is for its owner alone, and is made so again at each start', async () => {
    const dataDir = makeDataDir();
    const env = { KINORA_DATA_DIR: dataDir, KINORA_PORT: '0' };
    mkdirSync(dataDir, { mode: 0o755 });
    await (await startServer({ dataDir, options: { TOKEN: undefined } })).stop();
    expect(looseBelow(dataDir)).toEqual([]);

    chmodSync(dataDir, 0o755);
    chmodSync(join(dataDir, 'token'), 0o644);
    const settings = join(dataDir, 'db', 'pg_hba.conf');
    chmodSync(settings, 0o666);
    const doctor = await runCli(['doctor'], env);
    expect(doctor.stdout).toMatch(/^warn {2}Other users .* 3 entries of .*pg_hba\.conf\n {6}-> .*chmod -R go= /m);
    expect(statSync(settings).mode & 0o777).toBe(0o666);

    const server = await startServer({ dataDir });
    expect(looseBelow(dataDir)).toEqual([]);
    expect(server.log()).toContainEqual(expect.objectContaining({ level: 'warn', entries: 3 }));
    await server.stop();
    expect((await runCli(['doctor'], env)).stdout).not.toMatch(/^warn {2}Other users/m);
  });

  it('names the command that makes a token when none is known', async () => {
    const dataDir = await makeTestDataDir();
    await (await startServer({ dataDir })).stop();
    const server = await startServer({ dataDir, options: { TOKEN: undefined } });
    expect(server.output()).toContain('kinora token create');
    await server.stop();
    rmSync(dataDir, { recursive: true });
  });
});
