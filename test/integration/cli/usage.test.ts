import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { DataDirLock } from '#kinora/db/data-dir-lock.js';
import { asOrdinaryUser, cliPath, oldNode, runCli } from '../../support/processes/run-cli.js';

const directory = mkdtempSync(join(tmpdir(), 'kinora-cli-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const token = '6f0a2a3e-3b0e-4a8c-9b1d-2d5a6c7e8f90:secret';

describe('kinora', () => {
  it('explains itself', async () => {
    const { status, stdout } = await runCli(['--help']);
    expect(status).toBe(0);
    for (const words of ['serve', 'Videos:', 'asset <command>', 'doctor', 'backup <dir>']) {
      expect(stdout).toContain(words);
    }
    const help = await runCli(['token', 'create', '--help']);
    expect(help).toMatchObject({ status: 0, stderr: '' });
    expect(help.stdout).toContain('--permissions');
    expect(await runCli(['--version'])).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
  });

  it.each([
    [['serve', '--prot', '80'], {}, 'kinora: kinora serve has no flag --prot; did you mean --port?'],
    [
      ['serve'],
      { KINORA_DATADIR: '/x' },
      'kinora: KINORA_DATADIR is not an option of Kinora; did you mean KINORA_DATA_DIR?',
    ],
    [['serve', '--port', 'x'], {}, 'kinora: --port must be a whole number from 0 to 65535, not "x".'],
    [['serve'], { KINORA_BLOBS: 'gs://b/p' }, 'KINORA_BLOBS must be file or s3://bucket/prefix'],
    [['serv'], {}, 'kinora: kinora serv is not a command; did you mean kinora serve?'],
    [['asst', 'list'], {}, 'kinora: kinora asst is not a command; did you mean kinora asset?'],
    [['asset', 'shw', 'x'], {}, 'kinora: kinora asset shw is not a command; did you mean kinora asset show?'],
    [['asset'], {}, 'kinora: kinora asset needs one of: create, list, show, watch, open, delete.'],
    [['asset', 'show'], {}, "kinora: Missing required argument 'id'. Usage: kinora asset show [options] <id>"],
    [['asset', 'list', '--prt', '80'], {}, 'kinora: kinora asset list has no flag --prt; did you mean --port?'],
    [
      ['asset', 'list', '--sample', 'false'],
      {},
      'kinora: kinora asset list has no flag --sample; kinora asset list --help lists its flags.',
    ],
    [['serve', '--data-dir'], {}, "Option '--data-dir <value>' argument missing"],
    [
      ['env', 'create', 'x', '--type', 'y'],
      {},
      "Option '--type <type>' argument 'y' is invalid. Allowed choices are development, production.",
    ],
    [['env', 'create', 'x', '--video-quality', 'high'], {}, 'Allowed choices are basic, plus, premium.'],
    [['env', 'update', 'x'], {}, 'kinora: --video-quality is required.'],
    [['serve'], { KINORA_DEFAULT_VIDEO_QUALITY: 'high' }, 'must be one of basic, plus, premium, not "high".'],
    [['--port', '80'], {}, 'kinora: kinora has no flag --port; '],
    [[], { KINORA_PORT: 'x' }, 'kinora: KINORA_PORT must be a whole number from 0 to 65535, not "x".'],
    [
      ['serve', '--allow-private-sources', '10.0.0.0/33'],
      {},
      'kinora: --allow-private-sources must be true, false or a comma-separated list of blocks such as 10.0.0.0/8,fd00::/8, not "10.0.0.0/33".',
    ],
    [['--sample', 'maybe', 'serve'], {}, 'kinora: --sample must be true or false, not "maybe".'],
    [['serve', '--media-memory', '1'], {}, 'kinora: --media-memory must be at least 128MiB, not "1".'],
    [
      ['serve', '--data-dir', '/proc/x'],
      {},
      'kinora: The data directory /proc/x cannot be created; set KINORA_DATA_DIR (--data-dir) to a directory that this user can write to.',
    ],
    [
      ['serve'],
      { npm_lifecycle_event: 'start', npm_config_user_agent: 'npm/11', npm_config_allow_private_sources: 'true' },
      'kinora: npm did not pass --allow-private-sources to Kinora. Add -- before the flags: npm start -- --allow-private-sources ...',
    ],
  ])('ends %j %j with status 2', async (args, env, sentence) => {
    const { status, stdout, stderr } = await runCli(args, env);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(sentence);
  });

  it('reads .env of the working directory', async () => {
    writeFileSync(join(directory, '.env'), 'KINORA_PORT=nowhere\n');
    const { status, stderr } = await runCli(['doctor'], {}, directory);
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: 'kinora: KINORA_PORT in .env must be a whole number from 0 to 65535, not "nowhere".\n',
    });
  });

  it('says which line of .env is wrong, and that .env cannot be read', async () => {
    const cwd = mkdtempSync(join(directory, 'env-'));
    writeFileSync(join(cwd, '.env'), 'KINORA_PORT=0\nKINORA_TOKEN id:secret\n');
    expect(await runCli(['doctor'], {}, cwd)).toEqual({
      status: 2,
      stdout: '',
      stderr: 'kinora: Line 2 of .env is not an assignment; write NAME=value, or start the line with #.\n',
    });
    rmSync(join(cwd, '.env'));
    mkdirSync(join(cwd, '.env'));
    const unreadable = (code: string) => ({
      status: 2,
      stdout: '',
      stderr: `kinora: The file ${join(cwd, '.env')} cannot be read (${code}). Make it readable for this user, or remove it.\n`,
    });
    expect(await runCli(['doctor'], {}, cwd)).toEqual(unreadable('EISDIR'));
    rmdirSync(join(cwd, '.env'));
    writeFileSync(join(cwd, '.env'), '', { mode: 0 });
    expect(await runCli(['doctor'], {}, cwd, asOrdinaryUser)).toEqual(unreadable('EACCES'));
  });

  it('refuses an old Node.js in one sentence, before it loads anything', async () => {
    expect(readFileSync(cliPath, 'utf8')).not.toMatch(/^import[ {]/m);
    expect(await runCli(['--version'], oldNode)).toEqual({
      status: 1,
      stdout: '',
      stderr: 'kinora: Node.js 20.19 or newer is required; this is 18.20.8.\n',
    });
  });

  it('ends with status 75 while another process has the data directory', async () => {
    const dataDir = mkdtempSync(join(directory, 'held-'));
    const lock = await DataDirLock.acquire(dataDir, () => undefined);
    try {
      for (const args of [
        ['serve', '--port', '0'],
        ['token', 'list'],
        ['backup', join(directory, 'never')],
      ]) {
        const { status, stderr } = await runCli(args, { KINORA_DATA_DIR: dataDir });
        expect(status, args.join(' ')).toBe(75);
        expect(stderr).toContain(dataDir);
        expect(stderr).not.toContain('    at ');
      }
    } finally {
      await lock.release();
    }
  });
});

describe('kinora asset', () => {
  it('says what it needs', async () => {
    const env = { KINORA_DATA_DIR: join(directory, 'absent'), KINORA_PORT: '1' };
    const noToken = await runCli(['asset', 'list'], env);
    expect(noToken).toMatchObject({ status: 2, stderr: expect.stringContaining('No access token') });
    const noServer = await runCli(['asset', 'list'], { ...env, KINORA_TOKEN: token });
    expect(noServer).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('No server answers at http://127.0.0.1:1;'),
    });
  });

  it.each(['', '.', '..', '../x', 'a/b', 'x'.repeat(65)])('never takes %j for the id of an asset', async (id) => {
    const env = { KINORA_PORT: '1', KINORA_TOKEN: token };
    // All commands read IDs in the same way.
    for (const command of id === '../x' ? ['show', 'watch', 'delete'] : ['show']) {
      // After --, an ID may look like a flag.
      expect(await runCli(['asset', command, '--', id], env)).toEqual({
        status: 1,
        stdout: '',
        stderr: `kinora: There is no asset with the id ${JSON.stringify(id)}.\n`,
      });
    }
  });

  it('shows titles without what would steer the terminal', async () => {
    const title = 'A\n\u001b[2J\u009bB';
    const asset = { id: 'x', status: 'ready', created_at: '0', progress: { state: 'completed', progress: 100 } };
    const body = JSON.stringify({ data: [{ ...asset, meta: { title } }], next_cursor: null });
    const server = createServer((_, response) => response.end(body)).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { stdout } = await runCli(['asset', 'list'], { KINORA_PUBLIC_URL: origin, KINORA_TOKEN: token });
    server.close();
    expect(stdout.split('\n')).toHaveLength(3);
    expect(stdout).toContain('A  [2J B\n');
  });

  it('says what to do when the server refuses the token', async () => {
    const body = JSON.stringify({ error: { type: 'unauthorized', messages: ['Unauthorized request'] } });
    const server = createServer((_, response) => response.writeHead(401).end(body)).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const result = await runCli(['asset', 'list'], { KINORA_PUBLIC_URL: origin, KINORA_TOKEN: token });
    server.close();
    expect(result).toMatchObject({
      status: 1,
      stderr: `kinora: The server at ${origin} rejected this access token; set KINORA_TOKEN to a valid one.\n`,
    });
  });

  it('is not confused by something else on the port', async () => {
    const other = createServer((_, response) => response.end('<html>')).listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const origin = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const result = await runCli(['asset', 'list'], { KINORA_PUBLIC_URL: origin, KINORA_TOKEN: token });
    other.close();
    expect(result).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`The server at ${origin} is not Kinora.`),
    });
  });
});
