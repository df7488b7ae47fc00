import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fastify from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PART_BYTES, PartBuffers, usePartBuffers } from '#kinora/http/stream/part-buffers.js';
import { type SentFile, sendFile } from '#kinora/http/stream/send-file.js';

/** More than all buffers between two processes hold. */
const SIZE_BYTES = 64 * 2 ** 20;
const app = fastify();
usePartBuffers(app);
/** Numbers, so that every 4 bytes differ from all others. */
const numbers = Buffer.from(Uint32Array.from({ length: 2 ** 21 }, (_, index) => index).buffer);
const sent: { bytes: number; isWhole: boolean }[] = [];
let left = 0;
let released = 0;
let returned = 0;
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
  app.route({
    method: ['GET', 'HEAD'],
    url: '/hot',
    exposeHeadRoute: false,
    handler: (incoming, reply) => {
      const acquire = async () => ({
        bytes: numbers,
        release: () => {
          released += 1;
        },
      });
      // Nothing is at this path.
      const cached = { path: join(dir, 'none'), sizeBytes: numbers.length, etag: '"c"', acquire };
      return sendFile(incoming, reply, cached, 'video/mp4', (bytes, isWhole) => sent.push({ bytes, isWhole }));
    },
  });
  app.get('/refused', (incoming, reply) => {
    const release = () => {
      returned += 1;
    };
    const cached = {
      path,
      sizeBytes: 6,
      etag: '"e"',
      acquire: async () => ({ bytes: Buffer.from('memory'), release }),
    };
    reply.header('x-title', 'two\nlines');
    return sendFile(incoming, reply, cached, 'video/mp4').catch((error) => {
      reply.removeHeader('x-title');
      throw error;
    });
  });
  const lowercase = join(dir, 'lowercase');
  await writeFile(lowercase, 'in memory');
  app.get('/changed', (incoming, reply) => {
    const read: SentFile['read'] = (file, _, buffers) => async () => {
      const part = buffers.next().subarray(0, 6);
      await file.read(part, 0, 6, 3);
      return Buffer.from(String(part).toUpperCase());
    };
    return sendFile(incoming, reply, { path: lowercase, sizeBytes: 6, etag: '"d"', read }, 'video/mp4');
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
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  return response;
};

test('tells what went out, and whether the viewer stayed to the end', async () => {
  const broken = await get();
  await once(broken, 'data');
  broken.destroy();
  await expect.poll(() => left, { timeout: 120_000 }).toBe(1);

  for (const headers of [{}, { range: 'bytes=10-19' }, { 'if-none-match': '"a"' }]) {
    const response = await get(headers as Record<string, string>);
    response.resume();
    await once(response, 'end');
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

test('answers 500 and closes the file when a header is refused', async () => {
  const response = await fetch(`http://127.0.0.1:${port}/refused`);
  expect([response.status, await response.json(), returned]).toEqual([
    500,
    expect.objectContaining({ code: 'ERR_INVALID_CHAR' }),
    1,
  ]);
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

test('hands out only so many large buffers, and the same again', () => {
  const buffers = new PartBuffers();
  const pairs = Array.from({ length: 100 }, () => buffers.acquire());
  const lent = pairs.map((pair) => [pair.next(), pair.next(), pair.next()] as const);
  expect(lent.every(([first, second, third]) => first !== second && first === third)).toBe(true);
  const large = lent.flatMap((buffers) => buffers.slice(0, 2)).filter(({ length }) => length === PART_BYTES);
  expect(new Set(large).size).toBe(128);
  for (const pair of pairs) pair.release();
  expect(large).toContain(buffers.acquire().next());
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
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    const parts: Buffer[] = [];
    for await (const part of response) {
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

const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

const hot = async (method: string, headers: Record<string, string> = {}) => {
  const before = released;
  const response = await fetch(`http://127.0.0.1:${port}/hot`, { method, headers });
  const body = digestOf(Buffer.from(await response.arrayBuffer()));
  if (method === 'GET' && (response.status === 200 || response.status === 206))
    await expect.poll(() => released, { timeout: 120_000 }).toBe(before + 1);
  else expect(released).toBe(before);
  const range = response.headers.get('content-range');
  return { status: response.status, length: response.headers.get('content-length'), range, body };
};

test('follows the same rules when the content is in memory, and gives it back', async () => {
  const whole = { status: 200, length: String(numbers.length), range: null };
  const before = sent.length;
  expect(await hot('GET')).toEqual({ ...whole, body: digestOf(numbers) });
  expect(await hot('HEAD')).toEqual({ ...whole, body: digestOf(Buffer.alloc(0)) });
  expect(await hot('GET', { 'if-none-match': '"c"' })).toMatchObject({ status: 304, body: digestOf(Buffer.alloc(0)) });
  expect(await hot('GET', { range: `bytes=${numbers.length}-` })).toMatchObject({ status: 416 });
  // Longer than one part.
  const [start, end] = [5, 5 + 3 * 2 ** 20];
  expect(await hot('GET', { range: `bytes=${start}-${end}`, 'if-range': '"c"' })).toEqual({
    status: 206,
    length: String(end - start + 1),
    range: `bytes ${start}-${end}/${numbers.length}`,
    body: digestOf(numbers.subarray(start, end + 1)),
  });
  expect(await hot('GET', { range: 'bytes=0-1', 'if-range': '"b"' })).toEqual({ ...whole, body: digestOf(numbers) });
  expect(sent.slice(before)).toEqual([
    { bytes: numbers.length, isWhole: true },
    { bytes: end - start + 1, isWhole: true },
    { bytes: numbers.length, isWhole: true },
  ]);
});

test('gives content in memory back when its reader leaves', async () => {
  const [counted, given] = [sent.length, released];
  const outgoing = request({ port, host: '127.0.0.1', path: '/hot' }).end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  response.destroy();
  await expect.poll(() => released, { timeout: 120_000 }).toBe(given + 1);
  const [{ bytes, isWhole }] = sent.slice(counted) as [{ bytes: number; isWhole: boolean }];
  expect(isWhole).toBe(false);
  expect(bytes).toBeLessThan(numbers.length);
});

test('a file that is sent in another form is changed while it is read', async () => {
  const response = await fetch(`http://127.0.0.1:${port}/changed`);
  expect(await response.text()).toBe('MEMORY');
});
