import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { takeTurns } from '#kinora/http/plugins/take-turns.js';

const MAX_WAITING = 100;
/** Responses of requests that were begun, in order. */
let begun: ServerResponse[];
let accepted: Socket[];
let server: ReturnType<typeof createServer>;
let sockets: Socket[];

beforeEach(async () => {
  [begun, accepted, sockets] = [[], [], []];
  server = createServer(takeTurns((_, response) => void begun.push(response), MAX_WAITING));
  server.on('connection', (socket) => accepted.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  server.closeAllConnections();
  server.close();
});

const REQUEST = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n';
const open = async (requests: string): Promise<Socket> => {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(requests);
  return socket;
};
const isBegun = (count: number) => expect.poll(() => begun.length, { timeout: 120_000 }).toBe(count);

test('a request begins when the answer before it is sent', async () => {
  const socket = await open(REQUEST.repeat(3));
  for (let count = 1; count <= 3; count++) {
    await isBegun(count);
    begun.at(-1)!.end('x');
    await once(socket, 'data');
  }
  expect(begun).toHaveLength(3);
});

test('a connection is not read while one of its requests waits, and is read again afterwards', async () => {
  const socket = await open(REQUEST.repeat(2));
  await isBegun(1);
  const [of] = accepted;
  await expect.poll(() => of!.isPaused(), { timeout: 120_000 }).toBe(true);
  const readBytes = of!.bytesRead;
  socket.write(REQUEST);
  // The server has looked at its connections since, or it would not know of this one.
  await open(REQUEST);
  await isBegun(2);
  expect(of!.bytesRead).toBe(readBytes);
  begun[0]!.end();
  await isBegun(3);
  begun[2]!.end();
  await isBegun(4);
  expect(of!.bytesRead).toBe(3 * REQUEST.length);
});

test('a closed connection ends what waits on it and makes room for others', async () => {
  const first = await open(REQUEST.repeat(1 + MAX_WAITING));
  await isBegun(1);
  first.resetAndDestroy();
  await expect
    .poll(
      () => {
        // A connection that is not read tells its end when it is written to.
        begun[0]!.write('x');
        return accepted[0]!.destroyed;
      },
      { timeout: 120_000 },
    )
    .toBe(true);
  expect(begun).toHaveLength(1);
  const second = await open(REQUEST.repeat(1 + MAX_WAITING));
  await isBegun(2);
  begun[1]!.end();
  await isBegun(3);
  expect(second.destroyed).toBe(false);
});

test('a connection that sends more ahead than may wait is closed, others are answered', async () => {
  const greedy = await open(REQUEST.repeat(2 + MAX_WAITING));
  greedy.resume();
  await once(greedy, 'close');
  await expect.poll(() => accepted[0]!.destroyed, { timeout: 120_000 }).toBe(true);
  const polite = await open(REQUEST.repeat(2));
  await isBegun(2);
  begun[1]!.end('x');
  await once(polite, 'data');
  await isBegun(3);
});
