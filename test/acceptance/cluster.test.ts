/** `npm run cluster`: three servers behind nginx, with viewers who keep playing. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { fetchBytes, mediaPlaylists, segmentsOf } from '../support/players/play.js';
import type { Cluster } from '../support/servers/cluster.js';
import { keepRunning } from '../support/servers/keep-running.js';
import { nginxPath } from '../support/servers/nginx.js';
import type { Origin } from '../support/servers/origin.js';
import { hasPostgres } from '../support/servers/postgres.js';
import { until } from '../support/servers/server-process.js';
import { swiftPath } from '../support/servers/swift.js';
import { createAsset, serveFiles, settled } from '../support/wire/create-asset.js';

type Printed = Omit<Cluster, 'stop'>;

const VIEWERS = 50;

describe.runIf(swiftPath !== undefined && nginxPath !== undefined && hasPostgres())('a cluster', () => {
  let script: ChildProcess;
  let printed: Printed;
  let origin: Origin;
  let addresses: string[];

  beforeAll(async () => {
    origin = await serveFiles([await fixture('longer.mp4')]);
    script = spawn(process.execPath, ['scripts/cluster.mjs'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = await once(createInterface({ input: script.stdout! }), 'line');
    printed = JSON.parse(line) as Printed;
    const [id, secret] = printed.token.split(':') as [string, string];
    const server = { url: printed.url, token: { id, secret } };
    const made = await createAsset(server, { inputs: [{ url: `${origin.url}/0` }], playback_policies: ['public'] });
    const asset = await settled(server, made.id);
    expect(asset.status).toBe('ready');
    const playlists = await mediaPlaylists(printed.url, asset.playback_ids![0]!.id);
    addresses = (await Promise.all(playlists.map(segmentsOf))).flat();
  });
  afterAll(async () => {
    if (script && script.exitCode === null) {
      script.kill('SIGTERM');
      await once(script, 'exit');
    }
    await origin?.stop();
  });

  const sumOf = async (metric: RegExp): Promise<number> => {
    const texts = await Promise.all(
      printed.nodes.map(async ({ metricsUrl }) => (await fetchBytes(metricsUrl)).toString()),
    );
    return texts.reduce((sum, text) => sum + Number(metric.exec(text)?.[1] ?? 0), 0);
  };
  /** What went wrong, if every try did. */
  const ask = async (url: string, tries: number): Promise<string[]> => {
    for (let tried = 1; ; tried += 1) {
      const error = await fetchBytes(url).then(
        () => undefined,
        (reason: Error) => reason,
      );
      if (!error) return [];
      if (tried === tries) return [`${url}: ${error.message}`];
    }
  };
  /** Each viewer begins at another place. `query` makes the addresses new to nginx. */
  const watch = async (query: string, tries: number): Promise<string[]> => {
    const failed: string[] = [];
    const viewer = async (_: unknown, number: number): Promise<void> => {
      for (let at = 0; at < addresses.length; at += 1)
        failed.push(...(await ask(`${addresses[(at + number) % addresses.length]}${query}`, tries)));
    };
    await Promise.all(Array.from({ length: VIEWERS }, viewer));
    return failed;
  };
  /** The process that listens on the port of a node: it may have been started again. */
  const pidOf = (url: string): number => {
    const setting = `KINORA_PORT=${new URL(url).port}`;
    const environmentOf = (pid: string): string[] => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
      } catch {
        // It has ended.
        return [];
      }
    };
    return Number(readdirSync('/proc').find((name) => /^\d+$/.test(name) && environmentOf(name).includes(setting)));
  };
  const isReady = (url: string) =>
    fetch(`${url}/readyz`)
      .then(({ ok }) => ok)
      .catch(() => false);

  test('50 viewers: no request fails, and each segment is encoded once', async () => {
    const segments = addresses.filter((address) => /\/\d+p\/\d+\.m4s/.test(address)).length;
    expect(segments).toBeGreaterThan(10);
    expect(await watch('', 1)).toEqual([]);
    // On a busy machine, a server may answer another one too late; the segment is made again then.
    const late = await sumOf(/^kinora_node_requests_total\{outcome="failed"\} (\d+)/m);
    expect(late).toBeLessThan(segments / 10);
    const encoded = await sumOf(/_factor_count\{kind="encode"\} (\d+)/);
    expect((encoded - late) / segments).toBeLessThanOrEqual(1.01);
  });

  test('all servers are restarted one after the other: no request fails', async () => {
    let isOver = false;
    const failed: string[] = [];
    // A request every 20 ms, and each address is new to nginx: all of them reach the servers.
    const viewer = async (_: unknown, number: number): Promise<void> => {
      await delay(number * 20);
      for (let at = number; !isOver; at += 1) {
        failed.push(...(await ask(`${addresses[at % addresses.length]}?viewer=${number}&at=${at}`, 1)));
        await delay(VIEWERS * 20);
      }
    };
    const watching = Promise.all(Array.from({ length: VIEWERS }, viewer));
    try {
      for (const { url, pid } of printed.nodes) {
        process.kill(pid, 'SIGTERM');
        await until('it has stopped', () => pidOf(url) !== pid);
        await until('it is ready again', () => isReady(url));
      }
    } finally {
      isOver = true;
      await watching;
    }
    expect(failed).toEqual([]);
  });

  test('a server is killed: no viewer misses a segment after one more try', async () => {
    const { url } = printed.nodes[1]!;
    const watching = watch('?killed', 2);
    await delay(100);
    process.kill(pidOf(url), 'SIGKILL');
    expect(await watching).toEqual([]);
    await until('it runs again', () => isReady(url));
  });

  test('SIGTERM ends everything', async () => {
    const pids = printed.nodes.map(({ url }) => pidOf(url));
    script.kill('SIGTERM');
    const [status] = await once(script, 'exit');
    expect(status).toBe(0);
    expect(pids.filter((pid) => readdirSync('/proc').includes(String(pid)))).toEqual([]);
    await expect(fetch(printed.url)).rejects.toThrow();
  });
});

test('a server that can not be started again is tried until it can', async () => {
  let starts = 0;
  let end!: () => void;
  const start = async () => {
    starts += 1;
    if (starts === 2 || starts === 3) throw new Error('the port is taken');
    const exited = new Promise<void>((resolve) => {
      end = resolve;
    });
    return { exited, number: starts, stop: async () => end() };
  };
  const kept = await keepRunning('A server', start, 1);
  end();
  await until('it runs again', () => kept.current.number === 4);
  await kept.stop();
  expect(starts).toBe(4);
  await expect(keepRunning('A server', () => Promise.reject(new Error('no')), 1)).rejects.toThrow('no');
});
