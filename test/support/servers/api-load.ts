import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { api, settled } from '../wire/create-asset.js';
import type { Booted } from './boot.js';
import { until } from './server-process.js';

type Server = Pick<Booted, 'url' | 'token'>;

/** Users who work while a fault comes and goes. */
export interface ApiLoad {
  /**
   * Causes the fault, again and again if it can go by itself, until it shows: a request was refused
   * after the call.
   */
  refused(cause?: () => void): Promise<void>;
  /** The longest that a response took, in milliseconds, also of the requests that still wait. */
  slowestMs(): number;
  /**
   * Waits, for at most the time that a server may take after a fault, until everything works
   * without a refusal.
   */
  works(): Promise<void>;
  /**
   * Ends the load. All that was acknowledged must be there, all assets must become ready, and no
   * answer may be a surprise.
   */
  check(): Promise<void>;
}

/** Writes must work again this long after a fault. */
const RECOVERY_MS = 15_000;
/** Of a user between two rounds. With 20 ms, a minute of load kept a core busy. */
const PAUSE_MS = 150;

/** What `/readyz` says: undefined when ready. */
export const notReady = async (server: Server): Promise<string | undefined> => {
  const body = (await (await fetch(`${server.url}/readyz`)).json()) as { status: string; failed?: string[] };
  return body.status === 'ok' ? undefined : body.failed!.join();
};

export const startApiLoad = (server: Server, sourceUrl: string): ApiLoad => {
  const uploads: string[] = [];
  const assets: string[] = [];
  const surprises: string[] = [];
  const waiting = new Set<{ startMs: number }>();
  let slowestMs = 0;
  let refusals = 0;
  /** Calls in a row without a refusal, of each kind. */
  let rounds = 0;
  let isEnded = false;

  const request = async (method: string, path: string, body?: object): Promise<string | undefined> => {
    const call = { startMs: performance.now() };
    waiting.add(call);
    // Fails while no server listens.
    const response = await api(server, method, path, body).catch(() => undefined);
    waiting.delete(call);
    slowestMs = Math.max(slowestMs, performance.now() - call.startMs);
    if (!response) {
      refusals += 1;
      return undefined;
    }
    const text = await response.text();
    if (response.ok) return (JSON.parse(text) as { data: { id: string } }).data.id;
    refusals += 1;
    const retryAfter = Number(response.headers.get('retry-after'));
    if (response.status !== 503 || !(retryAfter > 0)) surprises.push(`${method} ${path}: ${response.status} ${text}`);
    return undefined;
  };
  const create = async (path: string, body: object, ids: string[]): Promise<void> => {
    const id = await request('POST', path, body);
    if (id !== undefined) ids.push(id);
  };
  const loop = async (): Promise<void> => {
    for (let round = 0; !isEnded; round++) {
      const before = refusals;
      await create('/video/v1/uploads', {}, uploads);
      await request('GET', '/video/v1/assets');
      if (uploads.length > 0) await request('GET', `/video/v1/uploads/${uploads[round % uploads.length]}`);
      if (round % 15 === 0)
        await create(
          '/video/v1/assets',
          { inputs: [{ url: sourceUrl }], playback_policies: ['public'], passthrough: 'x'.repeat(200) },
          assets,
        );
      rounds = refusals === before ? rounds + 1 : 0;
      await pause(PAUSE_MS);
    }
  };
  const running = Promise.all([loop(), loop(), loop()]);
  // A failure is thrown where the load is ended.
  running.catch(() => undefined);

  return {
    refused: async (cause) => {
      const before = refusals;
      const isRefused = (): boolean => {
        cause?.();
        return refusals > before;
      };
      await until('a request is refused', isRefused);
    },
    slowestMs: () => {
      const nowMs = performance.now();
      return Math.max(slowestMs, ...[...waiting].map(({ startMs }) => nowMs - startMs));
    },
    works: async () => {
      rounds = 0;
      await until('writes work', () => rounds > 0, RECOVERY_MS);
      await until('ready', async () => (await notReady(server)) === undefined, RECOVERY_MS);
    },
    check: async () => {
      isEnded = true;
      await running;
      expect(surprises).toEqual([]);
      for (const id of uploads) expect((await api(server, 'GET', `/video/v1/uploads/${id}`)).status).toBe(200);
      for (const id of assets) expect((await settled(server, id)).status).toBe('ready');
    },
  };
};
