import { once } from 'node:events';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fastify from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPartBuffers, PART_BYTES, usePartBuffers } from '#kinora/http/stream/part-buffers.js';
import { sendFile } from '#kinora/http/stream/send-file.js';

/** More than all buffers between two processes hold. */
const SIZE_BYTES = 64 * 2 ** 20;
const app = fastify();
usePartBuffers(app);
/** Numbers, so that every 4 bytes differ from all others. */
const numbers = Buffer.from(Uint32Array.from({ length: 2 ** 21 }, (_, index) => index).buffer);
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
  const numbered = join(dir, 'numbers');
  await writeFile(numbered, numbers);
  app.get('/numbers', (incoming, reply) =>
    sendFile(incoming, reply, { path: numbered, sizeBytes: numbers.length, etag: '"b"' }, 'video/mp4'),
  );
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

test('lends only so many large buffers, and the same again', () => {
  const buffers = createPartBuffers();
  const pairs = Array.from({ length: 100 }, () => buffers.lend());
  const lent = pairs.map((pair) => [pair.next(), pair.next(), pair.next()] as const);
  expect(lent.every(([first, second, third]) => first !== second && first === third)).toBe(true);
  const large = lent.flatMap(([first, second]) => [first, second]).filter(({ length }) => length === PART_BYTES);
  expect(new Set(large).size).toBe(128);
  for (const pair of pairs) pair.giveBack();
  expect(large).toContain(buffers.lend().next());
});

test('sends whole files to 100 readers at once, some of whom wait or leave', async () => {
  const read = async (turn: number): Promise<void> => {
    const start = turn * 4;
    const outgoing = request({
      port,
      host: '127.0.0.1',
      path: '/numbers',
      headers: { range: `bytes=${start}-` },
    }).end();
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    const parts: Buffer[] = [];
    for await (const part of answer) {
      parts.push(part as Buffer);
      if (turn % 5 === 0 && parts.length === 3) break;
      if (turn % 3 === 0) await new Promise((resolve) => setTimeout(resolve, parts.length % 7));
    }
    const bytes = Buffer.concat(parts);
    expect(bytes.equals(numbers.subarray(start, start + bytes.length))).toBe(true);
    if (turn % 5 !== 0) expect(bytes.length).toBe(numbers.length - start);
  };
  await Promise.all(Array.from({ length: 100 }, (_, turn) => read(turn)));
});
