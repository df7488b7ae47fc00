import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { fetchBytes, mediaPlaylists, segmentsOf } from '../support/players/play.js';
import { unoptimizedWasm } from '../support/processes/node-flags.js';
import {
  cleanUpServers,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../support/servers/server-process.js';
import { createAsset, serveFiles, settled } from '../support/wire/create-asset.js';

/**
 * What a server opens and keeps for other reasons: connections to be kept alive, files of the
 * database.
 */
const MARGIN_HANDLES = 24;
const MARGIN_MIB = 96;
/** And what parsing 40,000 requests leaves to the next garbage collection. */
const BURST_MIB = 192;

const dataDir = makeDataDir();
let server: ServerProcess;
let segment: URL;
const sockets: Socket[] = [];

beforeAll(async () => {
  server = await startServer({ dataDir, nodeFlags: unoptimizedWasm });
  const origin = await serveFiles([await fixture('copy-1080p.mp4')]);
  const { id } = await createAsset(server, { inputs: [{ url: `${origin.url}/0` }], playback_policies: ['public'] });
  const { playback_ids: ids } = await settled(server, id);
  await origin.stop();
  const playlists = await mediaPlaylists(server.url, ids![0]!.id);
  const video = playlists.find((url) => !url.includes('/audio/'))!;
  segment = new URL((await segmentsOf(video))[1]!);
  await fetchBytes(segment.href);
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await cleanUpServers();
});

/** Files of the process, those of them that are segments, and the memory that it occupies. */
const figures = () => {
  const process = `/proc/${server.process.pid}`;
  const files = readdirSync(`${process}/fd`).map((fd) => {
    try {
      return readlinkSync(`${process}/fd/${fd}`);
    } catch {
      // Closed since it was listed.
      return '';
    }
  });
  const [, memoryKib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`${process}/status`, 'utf8'))!;
  return {
    handles: files.length,
    segments: files.filter((path) => path.startsWith(dataDir) && path.endsWith('.m4s')).length,
    memoryMib: Number(memoryKib) / 1024,
  };
};

/** The median of some requests, each on a connection of its own. */
const healthMs = async (): Promise<number> => {
  const times: number[] = [];
  for (let round = 0; round < 9; round++) {
    const startMs = performance.now();
    const response = await fetch(`${server.url}/healthz`, { headers: { connection: 'close' } });
    expect(response.status).toBe(200);
    await response.text();
    times.push(performance.now() - startMs);
  }
  return times.sort((a, b) => a - b)[4]!;
};

/** Connections, all at once, that send so many requests at once and read nothing. */
const attack = async (connections: number, requests: number): Promise<void> => {
  const text = `GET ${segment.pathname} HTTP/1.1\r\nhost: ${segment.host}\r\n\r\n`.repeat(requests);
  const open = async (): Promise<void> => {
    const socket = connect(Number(segment.port), segment.hostname);
    sockets.push(socket);
    // The server may close it.
    socket.on('error', () => undefined).pause();
    await once(socket, 'connect');
    socket.write(text);
  };
  await Promise.all(Array.from({ length: connections }, open));
};
const leave = (): void => {
  for (const socket of sockets.splice(0)) socket.destroy();
};

const cases = [
  { name: '200 connections with 200 requests each', waves: [[200, 200]] },
  { name: '20 connections with 500 requests each', waves: [[20, 500]] },
  {
    name: 'both, of a process that may open 4,096 files',
    waves: [
      [200, 200],
      [20, 500],
    ],
    limit: 4096,
  },
] as const;

it.for(cases)('requests sent ahead and never read take little and leave nothing: $name', async (attacked) => {
  if ('limit' in attacked) execFileSync('prlimit', ['--pid', String(server.process.pid), `--nofile=${attacked.limit}`]);
  const idleMs = await healthMs();
  const start = figures();
  const connections = attacked.waves.reduce((sum, [count]) => sum + count, 0);
  for (const [opened, requests] of attacked.waves) {
    await attack(opened, requests);
    const busyMs = await healthMs();
    const during = figures();
    expect(during.segments).toBeLessThanOrEqual(connections);
    expect(during.handles).toBeLessThanOrEqual(start.handles + 2 * connections + MARGIN_HANDLES);
    expect(during.memoryMib).toBeLessThan(start.memoryMib + BURST_MIB);
    // Bounds for machines that do other work as well.
    expect(busyMs).toBeLessThan(5000 + 20 * idleMs);
  }
  leave();
  const isClosed = ({ handles, segments } = figures()) => segments === 0 && handles <= start.handles + MARGIN_HANDLES;
  await until('files are closed', () => isClosed());
  await until('memory is free', () => figures().memoryMib < start.memoryMib + MARGIN_MIB);
  expect(server.logText()).not.toContain('EMFILE');
  expect((await fetch(segment)).status).toBe(200);
});

it.for(['/video/v1/assets', '/healthz', '/some-playback-id.m3u8', '/u/some-upload-id'])(
  'a request with two Host headers is refused: %s',
  async (path) => {
    const socket = connect(Number(segment.port), segment.hostname);
    sockets.push(socket);
    socket.end(`GET ${path} HTTP/1.1\r\nhost: ${segment.host}\r\nhost: elsewhere.example\r\n\r\n`);
    let response = '';
    for await (const chunk of socket) response += String(chunk);
    expect(response).toMatch(/^HTTP\/1\.1 400 /);
    expect(response).toContain('more than one Host header');
  },
);
