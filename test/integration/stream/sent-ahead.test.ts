import { once } from 'node:events';
import { mkdtemp, readdir, readlink, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sendFile } from '#kinora/http/stream/send-file.js';
import { type Api, startApi } from '../../support/servers/api.js';

/** More than the buffers of a connection hold. */
const LARGE_BYTES = 16 * 2 ** 20;
let dir: string;
let api: Api;
const sizesAsked: number[] = [];
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kinora-test-'));
  await writeFile(join(dir, 'large'), Buffer.alloc(LARGE_BYTES, 'l'));
  await writeFile(join(dir, 'small'), 'small');
  api = await startApi({
    streamPlugin: async (scope) => {
      for (const [name, sizeBytes] of [
        ['large', LARGE_BYTES],
        ['small', 5],
      ] as const) {
        const file = { path: join(dir, name), sizeBytes, etag: `"${name}"` };
        scope.get(`/files/${name}`, (request, reply) => {
          sizesAsked.push(sizeBytes);
          return sendFile(request, reply, file, 'video/mp4');
        });
      }
    },
  });
});
afterAll(async () => {
  await api?.stop();
  await rm(dir, { recursive: true, force: true });
});

const ask = (name: string) => `GET /files/${name} HTTP/1.1\r\nhost: localhost\r\n\r\n`;
const open = async (requests: string) => {
  const socket = connect(Number(new URL(api.origin).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write(requests);
  return socket;
};
const openFiles = async (): Promise<number> => {
  const targets = await Promise.all(
    (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
  );
  return targets.filter((target) => target.startsWith(dir)).length;
};

test('requests that are sent ahead are answered whole, one after the other', async () => {
  const socket = await open(
    `${ask('large')}${ask('small')}${ask('large')}`.replace(/\r\n\r\n$/, '\r\nconnection: close\r\n\r\n'),
  );
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  const bodies = Buffer.concat(chunks)
    .toString('latin1')
    .split(/HTTP\/1\.1 200 OK\r\n(?:[^\r\n]+\r\n)+\r\n/)
    .slice(1);
  expect(bodies.map((body) => [body.length, body.slice(0, 5)])).toEqual([
    [LARGE_BYTES, 'lllll'],
    [5, 'small'],
    [LARGE_BYTES, 'lllll'],
  ]);
  await expect.poll(openFiles).toBe(0);
});

test('requests that wait hold no file open, and a viewer that leaves ends them', async () => {
  const asked = sizesAsked.length;
  const socket = await open(ask('large').repeat(30));
  socket.pause();
  await expect.poll(openFiles, { timeout: 120_000 }).toBe(1);
  // A file is open from then on, unless the next request had begun as well.
  expect(sizesAsked.length - asked).toBe(1);
  socket.destroy();
  await expect.poll(openFiles, { timeout: 120_000 }).toBe(0);
  expect(sizesAsked.length - asked).toBe(1);
});

test('a connection goes on after HEAD and after a refusal', async () => {
  const socket = await open(ask('small'));
  const [first] = (await once(socket, 'data')) as [Buffer];
  expect(first.toString()).toMatch(/^HTTP\/1\.1 200 OK/);
  socket.write(`HEAD /files/small HTTP/1.1\r\nhost: a\r\n\r\n${ask('missing')}${ask('small')}`);
  let rest = '';
  for await (const chunk of socket) {
    rest += String(chunk);
    if (rest.endsWith('small')) break;
  }
  expect(rest.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 404', 'HTTP/1.1 200']);
});
