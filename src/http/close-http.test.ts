import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import fastify from 'fastify';
import { afterEach, expect, it, vi } from 'vitest';
import { quietLogger } from '../../test/support/logger.js';
import { Connections } from './close-http.js';
import { createHttpApp } from './plugins/create-http-app.js';

afterEach(() => {
  vi.useRealTimers();
});

it('gives idle connections and halves of requests less than two seconds', async () => {
  const app = fastify();
  app.post('/', () => 'ok');
  const connections = new Connections(app);
  const arrived = { bytes: 0 };
  app.server.on('connection', (socket) => socket.on('data', (data: Buffer) => (arrived.bytes += data.length)));
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const halves = [
    '',
    'GET / HTTP/1.1\r\nHost: a\r\n',
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
  ];
  const sockets = halves.map(() => connect(port, '127.0.0.1').on('error', () => undefined));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  for (const [index, half] of halves.entries()) sockets[index]!.write(half);
  await vi.waitFor(() => expect(arrived.bytes).toBe(halves.join('').length), 60_000);
  // Only fake time passes.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  const closed = connections.close(600_000);
  await vi.advanceTimersByTimeAsync(2000);
  await closed;
  for (const socket of sockets) socket.destroy();
});

it('keeps no connection once it has begun to leave', async () => {
  const app = createHttpApp({ logger: quietLogger }, 1024, () => undefined);
  app.get('/', () => 'ok');
  const connections = new Connections(app);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const ask = async (): Promise<string | undefined> => {
    const socket = connect(port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    const [response] = await once(socket, 'data');
    socket.destroy();
    return /^connection: (.*)$/im.exec(String(response))?.[1];
  };
  expect(await ask()).toBe('keep-alive');
  connections.leave();
  expect(await ask()).toBe('close');
  await connections.close(60_000);
});
