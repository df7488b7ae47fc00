import { once } from 'node:events';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fastify from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sendFile } from '#kinora/http/stream/send-file.js';

/** More than all buffers between two processes hold. */
const SIZE_BYTES = 64 * 2 ** 20;
const app = fastify();
const sent: { bytes: number; isWhole: boolean }[] = [];
let left = 0;
let dir: string;
let port: number;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kinora-test-'));
  const path = join(dir, 'file');
  const file = await open(path, 'w');
  await file.truncate(SIZE_BYTES);
  await file.close();
  app.get('/', async (incoming, reply) => {
    reply.raw.once('close', () => {
      left += 1;
    });
    const cached = { path, sizeBytes: SIZE_BYTES, etag: '"a"' };
    return sendFile(incoming, reply, cached, 'video/mp4', (bytes, isWhole) => sent.push({ bytes, isWhole }));
  });
  app.get('/left', async (incoming, reply) => {
    await once(reply.raw, 'close');
    await sendFile(incoming, reply, { path, sizeBytes: SIZE_BYTES, etag: '"a"' }, 'video/mp4', (bytes, isWhole) =>
      sent.push({ bytes, isWhole }),
    );
    return reply;
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  port = (app.server.address() as AddressInfo).port;
});
afterAll(async () => {
  await app.close();
  await rm(dir, { recursive: true, force: true });
});

const get = async (headers: Record<string, string> = {}): Promise<IncomingMessage> => {
  const outgoing = request({ port, host: '127.0.0.1', headers }).end();
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  return answer;
};

test('tells what went out, and whether the viewer stayed to the end', async () => {
  const broken = await get();
  await once(broken, 'data');
  broken.destroy();
  await expect.poll(() => left, { timeout: 120_000 }).toBe(1);

  for (const headers of [{}, { range: 'bytes=10-19' }, { 'if-none-match': '"a"' }]) {
    const answer = await get(headers as Record<string, string>);
    answer.resume();
    await once(answer, 'end');
  }
  await expect.poll(() => left, { timeout: 120_000 }).toBe(4);
  const [cut, ...whole] = sent;
  expect(cut!.isWhole).toBe(false);
  expect(cut!.bytes).toBeGreaterThan(0);
  expect(cut!.bytes).toBeLessThan(SIZE_BYTES);
  expect(whole).toEqual([
    { bytes: SIZE_BYTES, isWhole: true },
    { bytes: 10, isWhole: true },
  ]);
});

test('gives up a viewer who left before the file was opened', async () => {
  const before = sent.length;
  const outgoing = request({ port, host: '127.0.0.1', path: '/left' }).end();
  outgoing.on('error', () => undefined);
  await once(app.server, 'request');
  outgoing.destroy();
  await expect.poll(() => sent.slice(before), { timeout: 120_000 }).toEqual([{ bytes: 0, isWhole: false }]);
});

test('closes a connection whose reader takes nothing for a minute', async () => {
  const [[{ socket }]] = (await Promise.all([once(app.server, 'request'), get()])) as [[IncomingMessage], unknown];
  await expect.poll(() => socket.writableNeedDrain, { timeout: 120_000 }).toBe(true);
  expect(socket.timeout).toBe(60_000);
  const before = sent.length;
  socket.emit('timeout');
  expect(socket.destroyed).toBe(true);
  await expect.poll(() => sent.slice(before).map(({ isWhole }) => isWhole), { timeout: 120_000 }).toEqual([false]);
});
