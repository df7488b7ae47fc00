import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { cleanEnvironment } from '../support/processes/run-cli.js';
import type { Origin } from '../support/servers/origin.js';
import {
  cleanUpServers,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../support/servers/server-process.js';
import { serveFiles } from '../support/wire/create-asset.js';

const examples = fileURLToPath(new URL('../../examples/', import.meta.url));
const SECRET = 'a secret of the examples';

let server: ServerProcess;
let origin: Origin;
const receivers: ReturnType<typeof spawn>[] = [];
let path: string;
const environment = () => ({
  ...cleanEnvironment(),
  KINORA_URL: server.url,
  KINORA_TOKEN: `${server.token.id}:${server.token.secret}`,
  KINORA_WEBHOOK_SECRET: SECRET,
  PORT: '0',
});

beforeAll(async () => {
  path = await fixture('copy-720p.mp4');
  origin = await serveFiles([path]);
  server = await startServer({ dataDir: makeDataDir() });
});
afterAll(async () => {
  for (const receiver of receivers) receiver.kill();
  await cleanUpServers();
  await origin?.stop();
});

const run = async (name: string, argument: string): Promise<string[]> => {
  const { stdout } = await promisify(execFile)(process.execPath, [`${examples}${name}`, argument], {
    env: environment(),
  });
  return stdout.match(/http:\S+/g) ?? [];
};
const typeOf = async (url: string): Promise<string | null> => {
  const response = await fetch(url, { headers: { accept: 'text/html' } });
  expect(response.status).toBe(200);
  return response.headers.get('content-type');
};

it('imports by URL and prints what plays', async () => {
  const [page, playlist, thumbnail] = await run('create-asset.mjs', `${origin.url}/0`);
  expect(await typeOf(page!)).toContain('text/html');
  expect(await typeOf(playlist!)).toContain('mpegurl');
  expect(await typeOf(thumbnail!)).toBe('image/jpeg');
});

it('uploads a file', async () => {
  const [page] = await run('upload-file.mjs', path);
  expect(await typeOf(page!)).toContain('text/html');
});

it('plays with a token only', async () => {
  const [playlist] = await run('signed-playback.mjs', `${origin.url}/0`);
  expect(await typeOf(playlist!)).toContain('mpegurl');
  expect((await fetch(playlist!.replace(/\?.*/, ''))).status).toBe(403);
});

it('uploads a file with curl alone', async () => {
  const { stdout } = await promisify(execFile)('sh', [`${examples}upload.sh`, path], { env: environment() });
  expect(await typeOf(stdout.trim())).toContain('mpegurl');
});

it.each([
  ['receive-webhooks.mjs', '/', 'video.asset.ready one'],
  ['express-receiver.mjs', '/hooks', 'ready: one'],
])('%s receives events whose signature holds', async (name, where, line) => {
  let received = '';
  const receiver = spawn(process.execPath, [`${examples}${name}`], { env: environment() });
  receivers.push(receiver);
  receiver.stdout.on('data', (chunk) => {
    received += chunk;
  });
  await until('the receiver listens', () => /on port \d+/.test(received));
  const port = /on port (\d+)/.exec(received)![1];
  const body = JSON.stringify({ type: 'video.asset.ready', object: { type: 'asset', id: 'one' }, data: {} });
  const sign = async (secret: string) => {
    const time = Math.floor(Date.now() / 1000);
    const key = await crypto.subtle.importKey('raw', Buffer.from(secret), { name: 'HMAC', hash: 'SHA-256' }, false, [
      'sign',
    ]);
    const mac = await crypto.subtle.sign('HMAC', key, Buffer.from(`${time}.${body}`));
    return `t=${time},v1=${Buffer.from(mac).toString('hex')}`;
  };
  const send = async (secret: string) =>
    fetch(`http://127.0.0.1:${port}${where}`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', 'mux-signature': await sign(secret) },
    });
  expect((await send('another secret')).status).toBe(400);
  expect((await send(SECRET)).status).toBe(204);
  expect((await send(SECRET)).status).toBe(204);
  await until('the event is printed', () => received.includes(line));
  receiver.kill();
  await once(receiver, 'exit');
});

it.each([
  ['create-asset.mjs', 'Usage: node examples/create-asset.mjs <url>\n'],
  ['signed-playback.mjs', 'Usage: node examples/signed-playback.mjs <url>\n'],
  ['upload-file.mjs', 'Usage: node examples/upload-file.mjs <file>\n'],
  ['receive-webhooks.mjs', 'Usage: KINORA_WEBHOOK_SECRET=<secret> node examples/receive-webhooks.mjs\n'],
  ['express-receiver.mjs', 'Usage: KINORA_WEBHOOK_SECRET=<secret> node examples/express-receiver.mjs\n'],
  ['upload.sh', 'Usage: sh examples/upload.sh <file>\n'],
])('%s says how it is used when something is missing', (name, usage) => {
  const { KINORA_WEBHOOK_SECRET: _, ...env } = environment() as Record<string, string>;
  const interpreter = name.endsWith('.sh') ? 'sh' : process.execPath;
  const { status, stderr } = spawnSync(interpreter, [`${examples}${name}`], { env, encoding: 'utf8', timeout: 60_000 });
  expect({ status, stderr }).toEqual({ status: 2, stderr: usage });
});

it.each(['upload-file.mjs', 'upload.sh'])(
  '%s uses the port of .env and the token of the data directory',
  async (name) => {
    const directory = mkdtempSync(join(tmpdir(), 'kinora-example-'));
    const { KINORA_URL: _, KINORA_TOKEN: token, ...env } = environment() as Record<string, string>;
    const run = () =>
      promisify(execFile)(name.endsWith('.sh') ? 'sh' : process.execPath, [`${examples}${name}`, path], {
        cwd: directory,
        env,
      });
    try {
      await expect(run()).rejects.toThrow('kinora-data/token');
      mkdirSync(join(directory, 'kinora-data'));
      writeFileSync(join(directory, 'kinora-data/token'), `${token}\n`);
      writeFileSync(join(directory, '.env'), `KINORA_PORT=${new URL(server.url).port}\n`);
      expect((await run()).stdout).toContain(server.url);
    } finally {
      rmSync(directory, { recursive: true });
    }
  },
);

// examples-react.test.ts runs next-player and react-player.
it('covers every example', () => {
  expect(readdirSync(examples).sort()).toEqual([
    'README.md',
    'create-asset.mjs',
    'express-receiver.mjs',
    'kinora.mjs',
    'next-player',
    'react-player',
    'receive-webhooks.mjs',
    'signed-playback.mjs',
    'upload-file.mjs',
    'upload.sh',
  ]);
});
