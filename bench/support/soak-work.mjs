import { setTimeout as delay } from 'node:timers/promises';
import { readMedia, readMultivariant } from './playlist.mjs';

/** Assets are deleted only when there are more than this. */
const ASSETS = 10;
const PAUSE_MS = 20;

const deferred = () => {
  let resolve;
  const promise = new Promise((resolvePromise) => {
    resolve = resolvePromise;
  });
  return { promise, resolve };
};

class UnexpectedStatus extends Error {}

/**
 * Repeats lists, viewers and changes concurrently. `startCounting` resets `counts` and `unexpected`
 * (statuses by request). An unexpected status ends one round of its task; any other failure ends
 * the work.
 */
export const createSoakWork = (server, sourceUrl, file) => {
  const assets = [];
  /** Resolves when the number of assets has reached `ASSETS`. */
  const { promise: filled, resolve: tellFilled } = deferred();
  const counts = {};
  const unexpected = new Map();
  const startCounting = () => {
    Object.assign(counts, { lists: 0, viewers: 0, created: 0, uploaded: 0, deleted: 0 });
    unexpected.clear();
  };
  startCounting();

  /** `name` identifies the kind of request, because the path may contain an ID. */
  const ask = async (name, method, url, { body, headers, isGone = () => false } = {}) => {
    const response = await fetch(new URL(url, server.url), { method, headers, body });
    const bytes = Buffer.from(await response.arrayBuffer());
    if (response.ok) return bytes;
    if (!(response.status === 404 && isGone())) {
      const what = `${name}: ${response.status}`;
      unexpected.set(what, (unexpected.get(what) ?? 0) + 1);
    }
    throw new UnexpectedStatus(`${name}: ${response.status}`);
  };
  const api = async (name, method, path, fields) => {
    const headers = { authorization: server.authorization, ...(fields && { 'content-type': 'application/json' }) };
    const bytes = await ask(name, method, path, { headers, ...(fields && { body: JSON.stringify(fields) }) });
    return bytes.length > 0 ? JSON.parse(bytes).data : undefined;
  };

  const whenReady = async (id) => {
    let asset;
    do {
      await delay(PAUSE_MS);
      asset = await api('asset', 'GET', `/video/v1/assets/${id}`);
    } while (asset.status === 'preparing');
    if (asset.status !== 'ready') throw new Error(JSON.stringify(asset.errors));
    assets.push({ id, playbackId: asset.playback_ids[0].id });
  };
  const create = async () => {
    const fields = { inputs: [{ url: sourceUrl }], playback_policies: ['public'] };
    await whenReady((await api('new asset', 'POST', '/video/v1/assets', fields)).id);
    counts.created += 1;
  };
  const upload = async () => {
    const fields = { cors_origin: '*', new_asset_settings: { playback_policies: ['public'] } };
    const { id, url } = await api('new upload', 'POST', '/video/v1/uploads', fields);
    await ask('file of an upload', 'PUT', url, { body: file });
    let assetId;
    do {
      await delay(PAUSE_MS);
      ({ asset_id: assetId } = await api('upload', 'GET', `/video/v1/uploads/${id}`));
    } while (!assetId);
    await whenReady(assetId);
    counts.uploaded += 1;
  };

  /** Set while `betweenChanges` is pending. */
  let waiting;
  /** Runs `measure` after a round of changes, when the number of assets is always the same. */
  const betweenChanges = (measure) =>
    new Promise((resolve, reject) => {
      waiting = () => measure().then(resolve, reject);
    });

  const tasks = {
    lists: async () => {
      for (const path of ['/video/v1/assets?limit=100', '/system/v1/events?limit=50']) {
        await api(path, 'GET', path);
        counts.lists += 1;
      }
    },
    viewers: async () => {
      const asset = assets.at(-1);
      if (!asset) return;
      // The asset may be deleted while it is watched.
      const isGone = () => !assets.includes(asset);
      const player = { url: server.url, get: (path) => ask('file of a viewer', 'GET', path, { isGone }) };
      const { videos } = await readMultivariant(player, asset.playbackId);
      const { segments } = await readMedia(player, videos.at(-1));
      for (const { path } of segments) await player.get(path);
      counts.viewers += 1;
    },
    changes: async () => {
      await create();
      await upload();
      if (assets.length >= ASSETS) tellFilled();
      while (assets.length > ASSETS) {
        await api('removal', 'DELETE', `/video/v1/assets/${assets.shift().id}`);
        counts.deleted += 1;
      }
      const measure = waiting;
      waiting = undefined;
      await measure?.();
    },
  };

  const start = () => {
    let running = true;
    const repeat = async (task) => {
      while (running) {
        await task().catch((error) => {
          if (!(error instanceof UnexpectedStatus)) throw error;
        });
        await delay(PAUSE_MS);
      }
    };
    const failed = Promise.all(Object.values(tasks).map(repeat));
    // A failure may occur while nothing awaits it. The next await reports it.
    failed.catch(() => undefined);
    return {
      failed,
      stop: async () => {
        running = false;
        await failed;
      },
    };
  };

  return { counts, unexpected, filled, startCounting, betweenChanges, start };
};
