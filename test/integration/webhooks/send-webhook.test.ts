import { once } from 'node:events';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { WebhookClient, type WebhookClientOptions } from '#kinora/net/webhook-client.js';
import { startOrigin } from '../../support/servers/origin.js';
import { selfSigned } from '../../support/servers/self-signed.js';
import { startReceiver } from '../../support/servers/webhook-receiver.js';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

const message = { body: '{"title":"Größe 🎬"}', signature: 't=1,v1=a' };
const sender = (options: Partial<WebhookClientOptions> = {}) => new WebhookClient({ allowPrivate: true, ...options });

const receiver = async (...args: Parameters<typeof startReceiver>) => {
  const started = await startReceiver(...args);
  cleanUps.push(started.stop);
  return started;
};

/** A server that speaks TCP as the test says. */
const startRaw = async (connected: Parameters<typeof createServer>[1]) => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    cleanUps.push(() => socket.destroy());
    connected!(socket);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  cleanUps.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
};

describe('a webhook request', () => {
  it('is a POST of the exact bytes, signed, with a name of its own', async () => {
    const { url, received } = await receiver((_, response) => {
      response.writeHead(202, { 'x-trace': 'abc' }).end('thank you');
    });
    const result = await sender().send(`${url}/in?key=1`, message);
    expect(result).toMatchObject({ status: 202, body: 'thank you', headers: { 'x-trace': 'abc' } });
    expect(received).toMatchObject([
      {
        path: '/in?key=1',
        body: message.body,
        headers: {
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(message.body)),
          'user-agent': 'Kinora-Webhooks/1',
          'mux-signature': message.signature,
        },
      },
    ]);
  });

  it('ends when it was answered, even if the receiver does not read the rest of it', async () => {
    const large = { ...message, body: 'x'.repeat(16_000_000) };
    let socket!: Socket;
    const url = await startRaw((connection) => {
      socket = connection;
      connection.once('data', () => {
        connection.pause();
        connection.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      });
    });
    expect(await sender().send(url, large)).toMatchObject({ status: 200 });
    const closed = once(socket, 'close');
    socket.resume();
    await closed;
    expect(socket.bytesRead).toBeLessThan(large.body.length);
  });

  it('carries the credentials of its address', async () => {
    const { url, received } = await receiver();
    await sender().send(url.replace('http://', 'http://user:p%40ss@'), message);
    expect(received[0]!.headers.authorization).toBe(`Basic ${Buffer.from('user:p@ss').toString('base64')}`);
  });

  it('does not follow a redirect', async () => {
    const target = await receiver();
    for (const status of [301, 302, 307, 308]) {
      const { url } = await receiver((_, response) => response.writeHead(status, { location: target.url }).end());
      expect(await sender().send(url, message)).toMatchObject({ status });
    }
    expect(target.received).toEqual([]);
  });

  it('keeps the first KiB of the answer and reads no more', async () => {
    let sentBytes = 0;
    const chunk = Buffer.alloc(64 * 1024, 'x');
    const { url } = await receiver((_, response) => {
      const more = () => {
        while (!response.destroyed && response.write(chunk)) sentBytes += chunk.length;
        response.once('drain', more);
      };
      response.writeHead(200);
      more();
    });
    const result = await sender().send(url, message);
    expect(result).toMatchObject({ status: 200, body: 'x'.repeat(1024) });
    // What the sockets of both sides hold; the stream itself never ends.
    expect(sentBytes).toBeLessThan(32 * 2 ** 20);
  });

  it('takes an answer whose body does not end', async () => {
    const { url } = await receiver((_, response) => void response.writeHead(204 - 4).write('part'));
    expect(await sender().send(url, message)).toMatchObject({ status: 200, body: 'part' });
  });

  it('stores no text that the database refuses', async () => {
    const { url } = await receiver((_, response) => void response.end(Buffer.from([0x61, 0, 0xff, 0x62])));
    expect((await sender().send(url, message)).body).toBe('a\uFFFDb');
  });

  it('gives up after five seconds, wherever the receiver hangs', async () => {
    const silent = await startRaw(() => undefined);
    const dripping = await startRaw((socket) => {
      const drip = setInterval(() => socket.write('x'), 200);
      socket.write('HTTP/1.1 200 OK\r\nx-slow: ');
      socket.on('close', () => clearInterval(drip));
    });
    const startedMs = performance.now();
    const nameless = sender({ resolve: () => new Promise(() => undefined) });
    const responses = await Promise.all([
      sender().send(silent, message),
      sender().send(dripping, message),
      sender().send(silent.replace('http:', 'https:'), message),
      nameless.send('http://hooks.example.org/', message),
    ]);
    const elapsedMs = performance.now() - startedMs;
    expect(responses).toEqual(Array.from({ length: 4 }, () => ({ error: 'No answer within 5 s' })));
    expect(elapsedMs).toBeGreaterThan(4900);
  });

  it('says why there is no answer', async () => {
    const refused = await sender().send('http://127.0.0.1:1/', message);
    expect(refused).toEqual({ error: expect.stringContaining('ECONNREFUSED') });
    const rude = await startRaw((socket) => socket.end('not HTTP\r\n\r\n'));
    expect(await sender().send(rude, message)).toEqual({ error: expect.stringContaining('Parse Error') });
    const nobody = sender({ resolve: async () => [] });
    expect(await nobody.send('http://hooks.example.org/', message)).toEqual({ error: 'The name has no address' });
  });

  it('takes what came of an answer that is cut off, and nothing for none', async () => {
    const saying = (text: string) => startRaw((socket) => socket.once('data', () => socket.end(text)));
    const cut = await saying('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc');
    expect(await sender().send(cut, message)).toMatchObject({ status: 200, body: 'abc' });
    const unreadable = await saying('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nabc');
    expect(await sender().send(unreadable, message)).toMatchObject({ status: 200, body: '' });
    expect(await sender().send(await saying(''), message)).toEqual({ error: 'socket hang up' });
    const headers = await saying(`HTTP/1.1 200 OK\r\nx-long: ${'a'.repeat(100_000)}\r\n\r\n`);
    expect(await sender().send(headers, message)).toEqual({ error: expect.stringContaining('overflow') });
  });

  it('ends when the receiver wants to speak another protocol', async () => {
    const switching = await startRaw((socket) =>
      socket.once('data', () =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'),
      ),
    );
    expect(await sender().send(switching, message)).toEqual({ error: 'The receiver switched protocols' });
  });

  it('outlives a receiver that answers before it has read everything, and leaves', async () => {
    const escaped: unknown[] = [];
    const note = (error: unknown) => void escaped.push(error);
    process.on('uncaughtException', note);
    cleanUps.push(() => process.off('uncaughtException', note));
    const left: Promise<unknown>[] = [];
    const hasty = await startRaw((socket) => {
      socket.pause();
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
      left.push(once(socket, 'close'));
      setTimeout(() => socket.resetAndDestroy(), 10);
    });
    // More than the buffers of both sockets hold.
    const large = { ...message, body: 'x'.repeat(8 * 2 ** 20) };
    for (let n = 0; n < 3; n++) expect(await sender().send(hasty, large)).toMatchObject({ status: 200 });
    await Promise.all(left);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(escaped).toEqual([]);
  });

  it('verifies certificates', async () => {
    let requests = 0;
    const server = createTlsServer(selfSigned, (_, response) => {
      requests++;
      response.end();
    }).listen(0, '127.0.0.1');
    cleanUps.push(() => server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const result = await sender().send(`https://127.0.0.1:${port}/`, message);
    expect(result).toEqual({ error: 'self-signed certificate' });
    expect(requests).toBe(0);
  });

  it('uses a connection again, and a new one when the receiver closed it', async () => {
    const ports: (number | undefined)[] = [];
    let closed: Promise<unknown> = Promise.resolve();
    const { url } = await receiver((request, response) => {
      if (ports.length === 1) closed = once(request.socket, 'close');
      ports.push(request.socket.remotePort);
      response.end();
      // Without a word, as a server that restarts does.
      if (ports.length === 2) response.once('finish', () => setTimeout(() => request.socket.resetAndDestroy(), 0));
    });
    const one = sender();
    for (let n = 0; n < 4; n++) {
      expect(await one.send(url, message)).toMatchObject({ status: 200 });
      if (n === 1) await closed;
    }
    expect(ports).toHaveLength(4);
    expect(ports[1]).toBe(ports[0]);
    expect(ports[2]).not.toBe(ports[1]);
  });

  it('is sent once more, on a new connection, when a kept one is closed', async () => {
    const kept = new Set<Socket>();
    let phase: 'filling' | 'leaving' | 'gone' = 'filling';
    let waiting: (() => void)[] = [];
    let requests = 0;
    const { url } = await receiver(({ socket }, response) => {
      requests++;
      if (phase === 'gone' || (phase === 'leaving' && kept.has(socket))) return void socket.resetAndDestroy();
      if (phase === 'leaving') return void response.end();
      // Both at a time, so that they need two connections.
      kept.add(socket);
      waiting.push(() => response.end());
      if (waiting.length === 2) for (const answer of waiting) answer();
    });
    const one = sender();
    const fill = async () => {
      [phase, waiting] = ['filling', []];
      kept.clear();
      await Promise.all([one.send(url, message), one.send(url, message)]);
      expect(kept.size).toBe(2);
      requests = 0;
    };
    await fill();
    phase = 'leaving';
    expect(await one.send(url, message)).toMatchObject({ status: 200 });
    expect(requests).toBe(2);
    await fill();
    phase = 'gone';
    expect(await one.send(url, message)).toEqual({ error: expect.stringMatching(/ECONNRESET|socket hang up/) });
    expect(requests).toBe(2);
  });
});

describe('the address of a webhook', () => {
  const inside = async () => {
    const origin = await startOrigin((_, response) => void response.end());
    cleanUps.push(origin.stop);
    return origin;
  };

  it.each(['127.0.0.1', '2130706433', '0x7f.1', '0.0.0.0', 'localhost', '[::1]', '[::ffff:127.0.0.1]'])(
    'may not be inside: %s',
    async (host) => {
      const { port, requests } = await inside();
      const guarded = sender({ allowPrivate: false });
      const address = `http://${host}:${port}/`;
      expect(await guarded.allows(address)).toBe(false);
      expect(await guarded.send(address, message)).toEqual({ error: 'The address is not allowed' });
      expect(requests).toEqual([]);
    },
  );

  it('may be inside where the configuration allows it', async () => {
    const { url, requests } = await inside();
    const some = sender({ allowPrivate: ['127.0.0.1/32'] });
    expect(await some.allows(url)).toBe(true);
    expect(await some.send(url, message)).toMatchObject({ status: 200 });
    expect(await some.allows(url.replace('127.0.0.1', '127.0.0.2'))).toBe(false);
    expect(requests).toHaveLength(1);
  });

  it('is refused when one of several is inside, and judged anew each time', async () => {
    const { port, requests } = await inside();
    const responses = [
      [
        { address: '93.184.215.14', family: 4 },
        { address: '127.0.0.1', family: 4 },
      ],
      [{ address: '93.184.215.14', family: 4 }],
      [{ address: '127.0.0.1', family: 4 }],
    ];
    const asked: string[] = [];
    const guarded = sender({
      allowPrivate: false,
      resolve: async (name) => {
        asked.push(name);
        return responses[asked.length - 1]!;
      },
    });
    const address = `http://rebinding.example.org:${port}/`;
    expect(await guarded.allows(address)).toBe(false);
    expect(await guarded.allows(address)).toBe(true);
    expect(await guarded.send(address, message)).toEqual({ error: 'The address is not allowed' });
    expect(asked).toEqual(Array.from({ length: 3 }, () => 'rebinding.example.org'));
    expect(requests).toEqual([]);
  });

  it('whose name is not resolved yet is asked for once, however many events wait for it', async () => {
    const { port, requests } = await inside();
    const asked: string[] = [];
    let resolveAddress = (_: { address: string; family: number }[]) => {};
    const slow = sender({
      resolve: (name) => {
        asked.push(name);
        return name === 'fast.example.org'
          ? Promise.resolve([{ address: '127.0.0.1', family: 4 }])
          : new Promise((resolve) => {
              resolveAddress = resolve;
            });
      },
    });
    const waiting = Array.from({ length: 8 }, () => slow.send(`http://slow.example.org:${port}/`, message));
    expect(await slow.send(`http://fast.example.org:${port}/`, message)).toMatchObject({ status: 200 });
    resolveAddress([{ address: '127.0.0.1', family: 4 }]);
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(asked).toEqual(['slow.example.org', 'fast.example.org']);
    expect(requests).toHaveLength(9);
    await slow.send(`http://fast.example.org:${port}/`, message);
    expect(asked).toHaveLength(3);
  });

  it('is the one that was judged: the connection asks no second time', async () => {
    const { port, requests } = await inside();
    let asked = 0;
    const once = sender({
      allowPrivate: ['127.0.0.1/32'],
      resolve: async () => {
        asked++;
        return [{ address: asked === 1 ? '127.0.0.1' : '10.0.0.1', family: 4 }];
      },
    });
    expect(await once.send(`http://hooks.example.org:${port}/`, message)).toMatchObject({ status: 200 });
    expect([asked, requests.length]).toEqual([1, 1]);
  });
});
