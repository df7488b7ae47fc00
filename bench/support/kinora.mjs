// A server as users start it: `kinora serve` with default options on a fresh data directory.
import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { cpuSecondsOf } from './processes.mjs';

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const probe = fileURLToPath(new URL('./memory-probe.mjs', import.meta.url));
const POLL_MS = 20;

/**
 * `options` are environment variables without their prefix. `measured` enables `liveBytes`, which
 * collects garbage first. With `again`, the result of an earlier call whose server was killed, it
 * starts on the same data.
 */
export const startKinora = async ({ measured = false, options = {}, again } = {}) => {
  const dataDir = again?.dataDir ?? (await mkdtemp(join(tmpdir(), 'kinora-bench-')));
  const token = again?.token ?? `${randomUUID()}:${randomBytes(32).toString('base64url')}`;
  const child = spawn(process.execPath, [...(measured ? ['--expose-gc', '--import', probe] : []), main, 'serve'], {
    env: {
      PATH: process.env.PATH,
      KINORA_DATA_DIR: dataDir,
      KINORA_PORT: '0',
      KINORA_SAMPLE: 'false',
      KINORA_ALLOW_PRIVATE_SOURCES: 'true',
      KINORA_TOKEN: token,
      KINORA_LOG_LEVEL: 'info',
      KINORA_LOG_FORMAT: 'json',
      ...Object.fromEntries(Object.entries(options).map(([name, value]) => [`KINORA_${name}`, value])),
    },
    stdio: ['ignore', 'pipe', 'pipe', ...(measured ? ['ipc'] : [])],
  });
  let log = '';
  child.stderr.on('data', (chunk) => {
    log += chunk;
  });
  const ended = new Promise((resolve) => child.on('close', resolve));
  const url = await new Promise((resolve, reject) => {
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
      const address = /Address\s+(http:\S+)/.exec(output);
      if (address) resolve(address[1]);
    });
    child.on('close', () => reject(new Error(`the server did not start: ${log.slice(-2000)}`)));
  });
  const authorization = `Basic ${Buffer.from(token).toString('base64')}`;

  const api = async (method, path, body) => {
    const response = await fetch(`${url}/video/v1${path}`, {
      method,
      headers: { authorization, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text ? JSON.parse(text).data : undefined;
  };

  /** Creates an asset and waits until it is ready. `readyMs` is a time of `performance.now`. */
  const createAsset = async (sourceUrl, fields = {}) => {
    const postedMs = performance.now();
    let asset = await api('POST', '/assets', {
      inputs: [{ url: sourceUrl }],
      playback_policies: ['public'],
      ...fields,
    });
    while (asset.status === 'preparing') {
      await delay(POLL_MS);
      asset = await api('GET', `/assets/${asset.id}`);
    }
    if (asset.status !== 'ready') throw new Error(JSON.stringify(asset.errors));
    return { ...asset, playbackId: asset.playback_ids[0].id, postedMs, readyMs: performance.now() };
  };

  const get = async (path) => {
    const response = await fetch(new URL(path, url));
    const bytes = Buffer.from(await response.arrayBuffer());
    if (!response.ok) throw new Error(`${path}: ${response.status} ${bytes}`);
    return bytes;
  };

  /** Waits until the server and its media processes are idle, including read-ahead. */
  const idle = async () => {
    for (let quiet = 0, before = cpuSecondsOf(child.pid); quiet < 3; ) {
      await delay(100);
      const now = cpuSecondsOf(child.pid);
      quiet = now - before <= 0.01 ? quiet + 1 : 0;
      before = now;
    }
  };

  /** Live bytes of each thread by name (`main`, `thread`): heap and array buffers. */
  const liveBytes = () =>
    new Promise((resolve) => {
      child.once('message', resolve);
      child.send('measure');
    });

  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
    await rm(dataDir, { recursive: true, force: true });
  };

  /** Ends it as an update does: `again` starts on its data. */
  const end = async () => {
    child.kill('SIGTERM');
    await ended;
  };

  /** Ends it as a power cut would. Its media processes end with it. */
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };

  return {
    url,
    pid: child.pid,
    dataDir,
    token,
    authorization,
    api,
    createAsset,
    get,
    idle,
    liveBytes,
    end,
    kill,
    stop,
    log: () => log,
  };
};
