import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { attack } from './support/attack.mjs';
import { median, spread, table } from './support/figures.mjs';
import { startKinora } from './support/kinora.mjs';
import { movie } from './support/media.mjs';
import { startOrigin } from './support/origin.mjs';
import { readMedia, readMultivariant } from './support/playlist.mjs';
import { residentMegabytesOf } from './support/processes.mjs';

export const title = 'connections that send many requests and read nothing: their effect on the server';
export const needs = ['ffmpeg'];

const PROBES = 30;
const RETURN_LIMIT_MS = 5000;
const HEALTH_LIMIT_MS = 100;
/**
 * Tolerance for what the server keeps open for other reasons: keep-alive connections, database
 * files.
 */
const MARGIN_HANDLES = 24;
const MARGIN_MEGABYTES = 96;

const cases = [
  { name: '200 connections, 200 requests each', waves: [[200, 200]] },
  { name: '20 connections, 500 requests each', waves: [[20, 500]] },
  {
    name: 'both, limit of 4,096 open files',
    waves: [
      [200, 200],
      [20, 500],
    ],
    maxFiles: 4096,
  },
];

const handlesOf = (pid) => readdirSync(`/proc/${pid}/fd`).length;

/** Response times of `/healthz` in milliseconds, each on a new connection. */
const healthMs = async (url) => {
  const times = [];
  for (let i = 0; i < PROBES; i++) {
    const startMs = performance.now();
    const response = await fetch(`${url}/healthz`, { headers: { connection: 'close' } });
    await response.text();
    if (!response.ok) throw new Error(`/healthz: ${response.status}`);
    times.push(performance.now() - startMs);
  }
  return times;
};

/**
 * Milliseconds until handles and memory have returned to their earlier level; undefined after twice
 * the limit.
 */
const msUntilBack = async (pid, before) => {
  const startMs = performance.now();
  for (;;) {
    const elapsedMs = performance.now() - startMs;
    if (
      handlesOf(pid) <= before.handles + MARGIN_HANDLES &&
      residentMegabytesOf(pid) <= before.megabytes + MARGIN_MEGABYTES
    )
      return elapsedMs;
    if (elapsedMs > 2 * RETURN_LIMIT_MS) return undefined;
    await delay(20);
  }
};

const measure = async (server, segment, { name, waves, maxFiles }) => {
  if (maxFiles) execFileSync('prlimit', ['--pid', String(server.pid), `--nofile=${maxFiles}`]);
  const idleMs = await healthMs(server.url);
  const before = { handles: handlesOf(server.pid), megabytes: residentMegabytesOf(server.pid) };
  const attacks = [];
  const busyMs = [];
  const peak = { ...before };
  for (const wave of waves) {
    attacks.push(await attack(segment, wave));
    busyMs.push(...(await healthMs(server.url)));
    peak.handles = Math.max(peak.handles, handlesOf(server.pid));
    peak.megabytes = Math.max(peak.megabytes, residentMegabytesOf(server.pid));
  }
  for (const { leave } of attacks) await leave();
  const backMs = await msUntilBack(server.pid, before);
  const isMet = backMs !== undefined && backMs <= RETURN_LIMIT_MS && median(busyMs) < HEALTH_LIMIT_MS;
  if (!isMet) process.exitCode = 1;
  return [
    name,
    spread(busyMs),
    (median(busyMs) / median(idleMs)).toFixed(2),
    `${before.handles} to ${peak.handles}`,
    `${before.megabytes.toFixed(0)} to ${peak.megabytes.toFixed(0)}`,
    backMs === undefined ? 'never' : backMs.toFixed(0),
    isMet ? 'yes' : 'NO',
  ];
};

export const run = async () => {
  const origin = await startOrigin(await movie(60));
  const server = await startKinora();
  try {
    const { playbackId } = await server.createAsset(origin.url);
    const { videos } = await readMultivariant(server, playbackId);
    const { segments } = await readMedia(server, videos[0]);
    const segment = new URL(segments[1].path, server.url);
    await server.get(segment.pathname);
    await server.idle();
    const rows = [];
    for (const each of cases) rows.push(await measure(server, segment, each));
    table([
      [
        'unread requests',
        '/healthz, ms',
        'attacked / idle',
        'handles',
        'memory, MB',
        'recovered after, ms',
        `median below ${HEALTH_LIMIT_MS} ms, recovered in ${RETURN_LIMIT_MS / 1000} s`,
      ],
      ...rows,
    ]);
  } finally {
    await server.stop();
    origin.stop();
  }
};
