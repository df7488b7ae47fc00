// What people do with the command line all day, against one server: folders, titles, several
// assets, events.
import { spawn } from 'node:child_process';
import { closeSync, copyFileSync, mkdirSync, mkdtempSync, openSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { signWebhook } from '#kinora/domain/webhooks/sign-webhook.js';
import { fixture } from '../../support/media/fixtures.js';
import { cleanEnvironment, cliPath, runCli, startCli } from '../../support/processes/run-cli.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { until } from '../../support/servers/server-process.js';
import { api } from '../../support/wire/create-asset.js';

const directory = mkdtempSync(join(tmpdir(), 'kinora-everyday-'));
let server: Booted;
let video: string;

const env = () => ({
  KINORA_DATA_DIR: server.dataDir,
  KINORA_PUBLIC_URL: server.url,
  KINORA_TOKEN: `${server.token.id}:${server.token.secret}`,
});
const kinora = (...args: string[]) => runCli(args, env());
const listed = async (...flags: string[]) =>
  JSON.parse((await kinora('asset', 'list', '--json', ...flags)).stdout) as {
    id: string;
    status: string;
    meta?: { title: string };
  }[];

beforeAll(async () => {
  video = await fixture('video-only.mp4');
  server = await boot();
});
afterAll(async () => {
  await server?.stop();
  rmSync(directory, { recursive: true, force: true });
});

it('a folder becomes assets with the names of its files; what fails does not hold up the rest', async () => {
  const folder = join(directory, 'trip');
  mkdirSync(join(folder, 'day 2'), { recursive: true });
  for (const name of ['clip 10.mp4', 'clip 9.MP4', 'day 2/late.mp4', '.hidden.mp4'])
    copyFileSync(video, join(folder, name));
  writeFileSync(join(folder, 'notes.txt'), 'x');
  writeFileSync(join(folder, 'broken.mov'), 'This is not a video.');
  const created = await kinora('asset', 'create', folder);
  expect(created.status).toBe(1);
  expect(created.stderr).toContain(`${folder}: 2 files without a known extension of video or audio are left out.\n`);
  expect(created.stderr).toMatch(/^kinora: broken\.mov: .+$/m);
  expect(created.stdout.trim().split('\n')).toHaveLength(3);
  const assets = await listed();
  expect(assets.map(({ meta }) => meta?.title)).toEqual(['late.mp4', 'clip 10.mp4', 'clip 9.MP4', 'broken.mov']);
  expect((await listed('--status', 'errored')).map(({ meta }) => meta?.title)).toEqual(['broken.mov']);
  expect(await listed('--title', 'CLIP', '--limit', '1')).toMatchObject([{ meta: { title: 'clip 10.mp4' } }]);
  const watched = await kinora('asset', 'watch', ...assets.map(({ id }) => id), '--json');
  expect(watched.status).toBe(1);
  expect(JSON.parse(watched.stdout)).toMatchObject(assets.map(({ id, status }) => ({ id, status })));
});

const pipe = async (path: string) => {
  const input = openSync(path, 'r');
  const child = spawn(process.execPath, [cliPath, 'asset', 'create', '-', '--json'], {
    env: { ...cleanEnvironment(), ...env() },
    stdio: [input, 'pipe', 'pipe'],
  });
  closeSync(input);
  const output = { stdout: '', stderr: '' };
  child.stdout!.on('data', (chunk) => (output.stdout += chunk));
  child.stderr!.on('data', (chunk) => (output.stderr += chunk));
  const status = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { status, ...output };
};

it('standard input is uploaded, and a title replaces the name', async () => {
  const titled = await kinora('asset', 'create', video, '--title', 'Mine', '--policy', 'signed', '--no-wait', '--json');
  expect(titled.status, titled.stderr).toBe(0);
  const [{ id }] = JSON.parse(titled.stdout);
  const shown = await kinora('asset', 'show', id);
  expect(shown.stdout).toMatch(/^title +Mine$/m);
  expect(shown.stdout).toMatch(/^signed playback +http\S+$/m);
  const piped = await pipe(video);
  expect(piped.status).toBe(0);
  const [asset] = JSON.parse(piped.stdout);
  expect(asset).toMatchObject({ status: 'ready', duration: expect.any(Number) });
  expect(asset.meta?.title).toBeUndefined();
  expect(await pipe('/dev/null')).toEqual({ status: 1, stdout: '', stderr: 'kinora: Standard input is empty.\n' });
  expect(await kinora('asset', 'create', video, video, '--title', 'x')).toMatchObject({
    status: 2,
    stderr: 'kinora: --title needs exactly one source.\n',
  });
});

it('a signed link plays until its key is deleted, and no key is overwritten', async () => {
  const key = join(directory, 'key.json');
  const created = await kinora('signing-key', 'create', '--output', key);
  expect(created.stdout).toMatch(/^\w{40} is written to /);
  expect(statSync(key).mode & 0o777).toBe(0o600);
  const again = await kinora('signing-key', 'create', '--output', key);
  expect(again).toMatchObject({ status: 2, stderr: `kinora: --output: ${key} exists.\n` });
  const [{ id } = { id: '' }] = await listed('--title', 'mine');
  await kinora('asset', 'watch', id);
  const opened = await kinora('asset', 'open', id, '--key', key);
  const playbackId = /\/(\w{40})\?token=/.exec(opened.stdout)![1]!;
  const signed = await kinora('sign', playbackId, '--key', key, '--expires', '2h', '--json');
  const { url, expires_at } = JSON.parse(signed.stdout);
  expect(Math.abs(Date.parse(expires_at) - Date.now() - 7_200_000)).toBeLessThan(60_000);
  expect((await fetch(url)).status).toBe(200);
  expect((await fetch(url.split('?')[0])).status).toBe(403);
  for (const [flag, value] of [
    ['--expires', '1w'],
    ['--key', video],
    ['--key', join(directory, 'nothing')],
    ['--params', 'time'],
  ]) {
    const refused = await kinora('sign', playbackId, '--key', key, flag!, value!);
    expect(refused).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining(`kinora: ${flag}`) });
  }
  await kinora('signing-key', 'delete', created.stdout.slice(0, 40));
  expect((await fetch(url)).status).toBe(403);
});

it('assets are deleted only after a confirmation', async () => {
  const before = await listed();
  for (const args of [['--title', 'clip'], [before[0]!.id]]) {
    expect(await kinora('asset', 'delete', ...args)).toMatchObject({
      status: 2,
      stdout: '',
      stderr: 'kinora: Nobody can confirm this without a terminal: add --yes.\n',
    });
  }
  expect(await kinora('asset', 'delete', '--yes')).toMatchObject({ status: 2 });
  expect(await listed()).toHaveLength(before.length);
  const deleted = await kinora('asset', 'delete', '--title', 'clip', '--yes', '--json');
  expect(JSON.parse(deleted.stdout)).toHaveLength(2);
  expect(await listed()).toHaveLength(before.length - 2);
});

it('jobs of one asset are listed', async () => {
  const [{ id } = { id: '' }] = await listed('--title', 'late');
  const jobs = JSON.parse((await kinora('jobs', id, '--json')).stdout);
  expect(jobs).toContainEqual(expect.objectContaining({ queue: 'ingest', state: 'done', asset_id: id }));
  expect(new Set(jobs.map((job: { asset_id: string }) => job.asset_id))).toEqual(new Set([id]));
});

interface Received {
  readonly id: string;
  readonly type: string;
  readonly object: { readonly id: string };
}

/** A receiver that keeps its port over restarts. */
const startReceiver = async (received: Received[], secret: () => string, port = 0): Promise<Server> => {
  const receiver = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const signature = String(request.headers['mux-signature']);
    const seconds = Number(/^t=(\d+),/.exec(signature)?.[1]);
    if (signature !== signWebhook(secret(), seconds, body)) {
      response.writeHead(401).end();
      return;
    }
    received.push(JSON.parse(body));
    // The third is taken, but the answer never arrives, as when a receiver is killed.
    if (received.length === 3) request.socket.destroy();
    else response.end();
  });
  await new Promise<void>((resolve) => receiver.listen(port, '127.0.0.1', resolve));
  return receiver;
};

it('webhook listen delivers each event, signed, and says when one may arrive twice', async () => {
  const received: Received[] = [];
  let secret = '';
  let receiver = await startReceiver(received, () => secret);
  const { port } = receiver.address() as AddressInfo;
  const forwardTo = `http://127.0.0.1:${port}/in`;
  const listening = startCli(
    ['webhook', 'listen', '--forward-to', forwardTo, '--events', 'video.upload.created'],
    env(),
  );
  await until('it listens', () => /Signing secret: (\w+)\n/.test(listening.errors()));
  secret = /Signing secret: (\w+)\n/.exec(listening.errors())![1]!;
  const uploads: string[] = [];
  const upload = async (): Promise<void> => {
    const response = await api(server, 'POST', '/video/v1/uploads', { new_asset_settings: {} });
    uploads.push(((await response.json()) as { data: { id: string } }).data.id);
  };
  await upload();
  await until('one event', () => received.length === 1);
  await new Promise((resolve) => {
    receiver.close(resolve);
    receiver.closeAllConnections();
  });
  await upload();
  await upload();
  await upload();
  await until('it tries again', () => listening.output().includes('ECONNREFUSED'));
  receiver = await startReceiver(received, () => secret, port);
  await until('all events', () => listening.output().match(/: delivered$/gm)?.length === 4);
  listening.child.kill('SIGTERM');
  await listening.exited;
  receiver.close();
  receiver.closeAllConnections();

  // In order, none is missing, and the one whose answer was lost came twice.
  expect(received.map(({ object }) => object.id)).toEqual([uploads[0], uploads[1], uploads[2], uploads[2], uploads[3]]);
  expect(new Set(received.map(({ id }) => id)).size).toBe(4);
  const lines = listening.output().split('\n');
  expect(lines.filter((line) => line.includes(uploads[1]!)).at(-1)).toMatch(/status 200 .*attempt \d+: delivered$/);
  const twice = lines.filter((line) => line.includes(uploads[2]!));
  expect(twice[0]).toMatch(/: trying again$/);
  expect(twice[1]).toMatch(/attempt 2: delivered$/);
});

it('webhook listen refuses what it can not forward to', async () => {
  for (const url of ['', 'localhost:3000', 'ftp://x']) {
    expect(await kinora('webhook', 'listen', '--forward-to', url)).toMatchObject({ status: 2, stdout: '' });
  }
  const args = ['webhook', 'listen', '--forward-to', 'http://127.0.0.1:1'];
  expect(await runCli(args, { ...env(), KINORA_TOKEN: 'a:b' })).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('rejected this access token'),
  });
});
