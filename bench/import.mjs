import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { fillSource, serveSources } from '../test/support/wire/import-source.mjs';
import { table } from './support/figures.mjs';
import { startKinora } from './support/kinora.mjs';
import { tiny } from './support/media.mjs';

export const title = 'kinora import mux: 200 assets of every kind; the command and the server are killed on the way';
export const needs = ['ffmpeg'];

const ASSETS = Number(process.env.KINORA_BENCH_ASSETS ?? 200);
const RATE = 50;
const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));

/** Starts the command; `seen` is the number of assets that it has reported. */
const startImport = (source, target) => {
  const [MUX_TOKEN_ID, MUX_TOKEN_SECRET] = source.token.split(':');
  const args = ['import', 'mux', '--source-url', source.url, '--data-dir', target.dataDir, '--rate', String(RATE)];
  const child = spawn(process.execPath, [main, ...args, '--json'], {
    env: { PATH: process.env.PATH, MUX_TOKEN_ID, MUX_TOKEN_SECRET },
  });
  const run = { seen: 0, output: '', errors: '', kill: () => child.kill('SIGKILL') };
  child.stdout.on('data', (chunk) => {
    run.output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    run.errors += chunk;
    run.seen = run.errors.match(/^imported /gm)?.length ?? 0;
  });
  run.ended = new Promise((resolve) => child.on('close', resolve));
  return run;
};

const reach = async (run, seen) => {
  let isOver = false;
  run.ended.then(() => {
    isOver = true;
  });
  while (run.seen < seen && !isOver) await delay(50);
  if (run.seen < seen) throw new Error(`the import ended early: ${run.errors.slice(-2000)}`);
};

const allAssets = async (server) => {
  const assets = [];
  for (let page = 1; ; page += 1) {
    const found = await server.api('GET', `/assets?limit=100&page=${page}`);
    assets.push(...found);
    if (found.length < 100) return assets;
  }
};

/** What must be the same on both sides. */
const identity = ({ id, created_at, meta, passthrough, playback_ids = [], tracks = [] }) =>
  JSON.stringify({
    ...{ id, created_at, meta, passthrough },
    playbackIds: playback_ids.filter(({ policy }) => policy !== 'drm').map(({ id: own, policy }) => [own, policy]),
    tracks: tracks
      .filter(({ status }) => status !== 'errored')
      .map(({ id: own, type }) => [own, type])
      .sort(),
  });
/** What a forgotten cleanup would leave. */
const access = ({ id, master_access, playback_ids = [] }) => JSON.stringify({ id, master_access, playback_ids });

export const run = async () => {
  const files = await serveSources(await tiny());
  const source = await startKinora();
  let target = await startKinora();
  try {
    await fillSource({ url: source.url, token: tokenOf(source) }, files.url, { count: ASSETS });
    const before = await allAssets(source);
    const startedMs = performance.now();
    const first = startImport(source, target);
    await reach(first, Math.round(ASSETS * 0.2));
    first.kill();
    await first.ended;
    const second = startImport(source, target);
    await reach(second, Math.round(ASSETS * 0.3));
    await target.kill();
    target = await startKinora({ again: target });
    const status = await second.ended;
    const seconds = (performance.now() - startedMs) / 1000;
    const report = JSON.parse(second.output);
    const here = await allAssets(target);
    const there = new Map((await allAssets(source)).map((asset) => [asset.id, asset]));
    const movable = [...there.values()].filter((asset) => asset.status === 'ready');
    const isLeftAlone = before.every((asset) => access(asset) === access(there.get(asset.id)));
    const third = startImport(source, target);
    await third.ended;
    table([
      ['assets', 'value'],
      ['at the source', there.size],
      ['at the source, ready', movable.length],
      ['here, different IDs', new Set(here.map(({ id }) => id)).size],
      ['here, all', here.length],
      [
        'here, with the IDs and metadata of the source',
        here.filter((asset) => identity(asset) === identity(there.get(asset.id))).length,
      ],
      ['here, ready', here.filter((asset) => asset.status === 'ready').length],
      ['imported when the command was killed', first.seen],
      ['imported by the second run, whose server was killed', report.counts.imported],
      ['found imported by the second run', report.counts.present],
      ['failed', report.counts.failed],
      ['exit status', status],
      ['access at the source as before', isLeftAlone],
      ['imported by a third run', JSON.parse(third.output).counts.imported],
      ['requests of the second run', report.requests],
      ['seconds for all', seconds.toFixed(0)],
    ]);
    for (const { id, outcome, notes } of report.assets)
      if (outcome === 'failed') console.log(`${id}: ${notes.join(' ')}`);
  } finally {
    await target.stop();
    await source.stop();
    await files.stop();
  }
};

const tokenOf = ({ token }) => {
  const [id, secret] = token.split(':');
  return { id, secret };
};
