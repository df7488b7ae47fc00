import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import type { SourceClientOptions } from '#kinora/net/source-client.js';
import { KEY, startFetching } from '../../support/fetching.js';
import { type Origin, serveFile, startOrigin } from '../../support/servers/origin.js';
import { selfSigned } from '../../support/servers/self-signed.js';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

const start = async (
  handle: (request: IncomingMessage, response: ServerResponse, count: number) => void,
  overrides: Partial<SourceClientOptions> = {},
) => {
  const origin: Origin = await startOrigin(handle);
  const fetching = startFetching(overrides);
  cleanUps.push(origin.stop, fetching.stop);
  return { origin, ...fetching };
};

const MIB = 2 ** 20;
/** Sends the start of a file and breaks the connection. */
const breakOff = (
  response: ServerResponse,
  bytes: Buffer,
  sent: number,
  headers: Record<string, string | number> = {},
): void => {
  response.writeHead(200, { 'content-length': bytes.length, ...headers });
  response.write(bytes.subarray(0, sent), () => setTimeout(() => response.destroy(), 20));
};

describe('source fetcher', () => {
  it('stores what the origin sends, with its own user agent and no compression', async () => {
    const bytes = randomBytes(3 * MIB);
    const { origin, fetch, stored } = await start((request, response) => serveFile(request, response, bytes, '"1"'));
    const seen: [number, number | undefined][] = [];
    const info = await fetch(`${origin.url}/v.mp4`, { onProgress: (...progress) => seen.push(progress) });
    expect(info.sizeBytes).toBe(bytes.length);
    expect(bytes.equals((await stored()) ?? Buffer.alloc(0))).toBe(true);
    expect(origin.requests[0]?.headers).toMatchObject({ 'user-agent': 'Kinora/test', 'accept-encoding': 'identity' });
    expect(seen.at(-1)).toEqual([bytes.length, bytes.length]);
    expect(seen.length).toBeLessThan(10);
  });

  it.each([64, 72, 100])(
    'survives an origin that closes the connection behind %i KiB that are read slowly',
    async (kib) => {
      const bytes = randomBytes(kib * 1024);
      const server = createServer((socket) => {
        socket.once('data', () => {
          socket.write(`HTTP/1.0 200 OK\r\nContent-Length: ${bytes.length}\r\n\r\n`);
          socket.end(bytes);
        });
        socket.on('error', () => undefined);
      }).listen(0, '127.0.0.1');
      await new Promise((resolve) => server.once('listening', resolve));
      const fetching = startFetching();
      cleanUps.push(() => server.close(), fetching.stop);
      const { port } = server.address() as { port: number };
      await fetching.fetch(`http://127.0.0.1:${port}/v.mp4`, { onValidator: () => delay(200) });
      expect(bytes.equals((await fetching.stored())!)).toBe(true);
    },
  );

  it('uses credentials of the URL, keeps them within their origin and logs none', async () => {
    const other = await startOrigin((request, response) => serveFile(request, response, Buffer.from('film'), '"1"'));
    cleanUps.push(other.stop);
    const { origin, fetch, logger } = await start((request, response, count) => {
      if (count === 1) response.writeHead(503).end();
      else if (request.url === '/a') response.writeHead(302, { location: '/b' }).end();
      else response.writeHead(302, { location: `${other.url}/c` }).end();
    });
    await fetch(`http://user:s%20cret@127.0.0.1:${origin.port}/a`);
    const basic = `Basic ${Buffer.from('user:s cret').toString('base64')}`;
    expect(origin.requests.map(({ headers }) => headers.authorization)).toEqual([basic, basic, basic]);
    expect(other.requests[0]?.headers.authorization).toBeUndefined();
    expect(JSON.stringify(logger.lines)).not.toMatch(/cret|user/);
    expect(logger.lines.length).toBeGreaterThan(0);
  });

  it('follows five redirects and no sixth', async () => {
    const { origin, fetch } = await start((request, response) => {
      const left = Number(request.url?.slice(1));
      if (left === 0) response.end('film');
      else response.writeHead(302, { location: `/${left - 1}` }).end();
    });
    expect((await fetch(`${origin.url}/5`)).sizeBytes).toBe(4);
    await expect(fetch(`${origin.url}/6`)).rejects.toMatchObject({
      code: 'invalid_input',
      messages: ['The input file could not be downloaded: HTTP status 302.'],
    });
  });

  it('gives up at once on a status that will stay, after three tries on one that may pass', async () => {
    const { origin, fetch, store } = await start((request, response) =>
      response.writeHead(Number(request.url?.slice(1))).end(),
    );
    for (const [status, tries] of [
      [403, 1],
      [404, 1],
      [304, 1],
      [408, 3],
      [429, 3],
      [500, 3],
      [503, 3],
    ]) {
      origin.requests.length = 0;
      await expect(fetch(`${origin.url}/${status}`)).rejects.toMatchObject({
        code: 'invalid_input',
        failure: 'fail',
        messages: [`The input file could not be downloaded: HTTP status ${status}.`],
      });
      expect([status, origin.requests.length]).toEqual([status, tries]);
    }
    const write = await store.resumeWrite(KEY);
    expect(write.offsetBytes).toBe(0);
    await write.discard();
  });

  it('says why a server was not reached, and names no address', async () => {
    const { origin, fetch } = await start((_request, response) => response.end(), {
      resolve: async (hostname) => {
        if (hostname === 'nowhere.example')
          throw Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
        return hostname === 'empty.example' ? [] : [{ address: '127.0.0.1', family: 4 }];
      },
    });
    const rude = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.end('SSH-2.0-x\r\n').resume();
    });
    await new Promise<void>((resolve) => rude.listen(0, '127.0.0.1', resolve));
    const rudePort = (rude.address() as { port: number }).port;
    await origin.stop();
    const untrusted = createHttpsServer(selfSigned, (_request, response) => response.end('x')).listen(0, '127.0.0.1');
    await new Promise((resolve) => untrusted.once('listening', resolve));
    const tlsPort = (untrusted.address() as { port: number }).port;
    for (const [url, reason] of [
      [`${origin.url}/`, 'connection refused'],
      [`http://somewhere.example:${origin.port}/`, 'connection refused'],
      ['http://nowhere.example/', 'host not found'],
      ['http://empty.example/', 'host not found'],
      [`http://127.0.0.1:${rudePort}/`, 'the server does not speak HTTP'],
      [`https://127.0.0.1:${rudePort}/`, 'TLS handshake failed'],
      [`https://127.0.0.1:${tlsPort}/`, 'TLS certificate problem (it is self-signed)'],
    ] as const) {
      await expect(fetch(url), url).rejects.toMatchObject({
        code: 'source_unreachable',
        failure: 'retry',
        messages: [`The input file could not be downloaded: ${reason}.`],
      });
    }
    for (const server of [rude, untrusted]) await new Promise((resolve) => server.close(resolve));
  });

  it('decodes what the server compresses although it was asked not to, and cannot resume it', async () => {
    const bytes = Buffer.concat([randomBytes(MIB), Buffer.alloc(MIB)]);
    const coded = {
      gzip: gzipSync(bytes),
      'x-gzip': gzipSync(bytes),
      br: brotliCompressSync(bytes),
      Deflate: deflateSync(bytes),
    };
    for (const [coding, body] of Object.entries(coded)) {
      const headers = { 'content-encoding': coding, etag: '"1"', 'accept-ranges': 'bytes' };
      const { origin, fetch, stored } = await start((_request, response, count) => {
        if (count === 1) breakOff(response, body, body.length - 10, headers);
        else response.writeHead(200, { ...headers, 'content-length': body.length }).end(body);
      });
      const refusals: string[] = [];
      const onNoRanges = async (reason: string) => void refusals.push(reason);
      expect(await fetch(`${origin.url}/v.mp4`, { onNoRanges, onRanges: () => expect.unreachable() })).toEqual({
        sizeBytes: bytes.length,
      });
      expect(bytes.equals((await stored()) ?? Buffer.alloc(0)), coding).toBe(true);
      expect(refusals).toEqual(['the origin compresses the file']);
      expect(origin.requests.map(({ headers }) => headers.range)).toEqual([undefined, undefined]);
    }
  });

  it('refuses a decompression bomb, data that is damaged, and another compression', async () => {
    const small = { maxBytes: MIB };
    const identity = await start((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'identity' }).end('x'),
    );
    expect(await identity.fetch(identity.origin.url)).toEqual({ sizeBytes: 1 });
    for (const [coding, body, reason, overrides] of [
      ['gzip', gzipSync(Buffer.alloc(32 * MIB)), 'could not be downloaded: its compressed data expands too much.', {}],
      ['gzip', gzipSync(randomBytes(2 * MIB)), 'is larger than the maximum size of 1 MiB.', small],
      ['gzip', randomBytes(MIB), 'could not be downloaded: its compressed data is damaged.', {}],
      [
        'zstd',
        randomBytes(MIB),
        'could not be downloaded: the server compressed it in a way that is not supported (Content-Encoding).',
        {},
      ],
    ] as const) {
      const { origin, fetch, stored } = await start(
        (_request, response) => response.writeHead(200, { 'content-encoding': coding }).end(body),
        overrides,
      );
      await expect(fetch(origin.url), reason).rejects.toMatchObject({
        code: 'invalid_input',
        messages: [`The input file ${reason}`],
      });
      expect(await stored()).toBeUndefined();
    }
  });

  it('takes a partial answer to a request for the file if it has all of it', async () => {
    const bytes = randomBytes(MIB);
    const whole = `bytes 0-${MIB - 1}/${MIB}`;
    const { origin, fetch, stored } = await start((request, response, count) => {
      const first = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
      const headers = {
        etag: '"1"',
        'content-range': `bytes ${first}-${MIB - 1}/${MIB}`,
        'content-length': MIB - first,
      };
      response.writeHead(206, headers);
      if (count === 1) response.write(bytes.subarray(0, 600_000), () => setTimeout(() => response.destroy(), 20));
      else response.end(bytes.subarray(first));
    });
    expect(await fetch(`${origin.url}/v.mp4`)).toEqual({ sizeBytes: MIB });
    expect(bytes.equals((await stored()) ?? Buffer.alloc(0))).toBe(true);
    expect(origin.requests.map(({ headers }) => headers.range)).toEqual([undefined, 'bytes=600000-']);

    for (const range of [`bytes 0-${MIB - 2}/${MIB}`, `bytes 1-${MIB - 1}/${MIB}`, `bytes 0-${MIB - 1}/*`, undefined]) {
      const part = await start((_request, response) =>
        response.writeHead(206, { etag: '"1"', ...(range && { 'content-range': range }) }).end(bytes),
      );
      await expect(part.fetch(part.origin.url), range).rejects.toMatchObject({
        messages: ['The input file could not be downloaded: HTTP status 206.'],
      });
    }
    const short = await start((_request, response) =>
      response.writeHead(206, { 'content-range': whole }).end(bytes.subarray(1)),
    );
    await expect(short.fetch(short.origin.url)).rejects.toMatchObject({ code: 'source_unreachable' });
  });

  it('says that the server sent a web page, but believes no type that the bytes contradict', async () => {
    const page = '\ufeff\n<!DOCTYPE html><title>Sign in</title>';
    for (const [type, body] of [
      ['text/html; charset=utf-8', page],
      ['Text/HTML', '<html></html>'],
      ['application/xhtml+xml', '<?xml version="1.0"?>'],
    ]) {
      const { origin, fetch, stored } = await start((_request, response) =>
        response.writeHead(200, { 'content-type': type }).end(body),
      );
      await expect(fetch(origin.url)).rejects.toMatchObject({
        code: 'invalid_input',
        messages: ['The server sent a web page (text/html).'],
      });
      expect([origin.requests.length, await stored()]).toEqual([1, undefined]);
    }
    const video = await start((_request, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end(Buffer.from('0000ftyp')),
    );
    expect(await video.fetch(video.origin.url)).toEqual({ sizeBytes: 8 });
  });

  it('continues after broken connections, as many as it takes while each brings something', async () => {
    const bytes = randomBytes(8 * MIB);
    const { origin, fetch, stored } = await start((request, response, count) => {
      if (count > 5) {
        serveFile(request, response, bytes, '"v1"');
        return;
      }
      const first = Number(/\d+/.exec(request.headers.range ?? '0')?.[0]);
      response.writeHead(first === 0 ? 200 : 206, {
        etag: '"v1"',
        'content-length': bytes.length - first,
        'content-range': `bytes ${first}-${bytes.length - 1}/${bytes.length}`,
      });
      response.write(bytes.subarray(first, first + 1.25 * MIB), () => setTimeout(() => response.destroy(), 20));
    });
    await fetch(`${origin.url}/v.mp4`);
    expect(bytes.equals((await stored()) ?? Buffer.alloc(0))).toBe(true);
    expect(origin.requests).toHaveLength(6);
    for (const { headers } of origin.requests.slice(1)) {
      expect(headers.range).toMatch(/^bytes=[1-9]\d*-$/);
      expect(headers['if-range']).toBe('"v1"');
    }
  });

  it('starts again when the file changed in between', async () => {
    const older = randomBytes(MIB);
    const newer = randomBytes(MIB);
    const { origin, fetch, stored } = await start((request, response, count) => {
      if (count === 1) breakOff(response, older, 600_000, { etag: '"old"' });
      else serveFile(request, response, newer, '"new"');
    });
    const validators: unknown[] = [];
    await fetch(`${origin.url}/v.mp4`, { onValidator: (validator) => void validators.push(validator) });
    expect(newer.equals((await stored()) ?? Buffer.alloc(0))).toBe(true);
    expect(validators).toEqual(['"old"', '"new"']);
  });

  it('does not trust a partial answer that names another file or another place', async () => {
    const older = randomBytes(MIB);
    const newer = randomBytes(MIB);
    for (const lie of [
      { etag: '"new"', 'content-range': `bytes 600000-${MIB - 1}/${MIB}` },
      { etag: '"old"', 'content-range': `bytes 0-${MIB - 1}/${MIB}` },
    ]) {
      const { origin, fetch, stored } = await start((request, response, count) => {
        if (count === 1) breakOff(response, older, 600_000, { etag: '"old"' });
        else if (request.headers.range !== undefined) response.writeHead(206, lie).end(newer.subarray(600_000));
        else serveFile(request, response, newer, '"new"');
      });
      await fetch(`${origin.url}/v.mp4`);
      expect(newer.equals((await stored()) ?? Buffer.alloc(0))).toBe(true);
    }
  });

  it('never sends a weak validator and starts again without a strong one', async () => {
    const bytes = randomBytes(MIB);
    const { origin, fetch, stored } = await start((_request, response, count) => {
      const now = new Date().toUTCString();
      if (count === 1) breakOff(response, bytes, 600_000, { etag: 'W/"1"', 'last-modified': now, date: now });
      else response.end(bytes);
    });
    await fetch(`${origin.url}/v.mp4`);
    expect(bytes.equals((await stored()) ?? Buffer.alloc(0))).toBe(true);
    expect(origin.requests.map(({ headers }) => headers.range)).toEqual([undefined, undefined]);
  });

  it('accepts an old modification date as a validator', async () => {
    const bytes = randomBytes(MIB);
    const modified = 'Tue, 01 Oct 2024 10:00:00 GMT';
    const { origin, fetch } = await start((request, response, count) => {
      if (count === 1) breakOff(response, bytes, 600_000, { 'last-modified': modified });
      else serveFile(request, response, bytes, modified);
    });
    await fetch(`${origin.url}/v.mp4`);
    expect(origin.requests[1]?.headers).toMatchObject({ range: 'bytes=600000-', 'if-range': modified });
  });

  it('continues an earlier download with its validator, starts at zero without one', async () => {
    const bytes = randomBytes(MIB);
    const { origin, fetch, stored, store } = await start((request, response) =>
      serveFile(request, response, bytes, '"v1"'),
    );
    const leave = async (): Promise<void> => {
      const write = await store.resumeWrite(KEY);
      await write.restart();
      await write.write(bytes.subarray(0, 700_000));
      await write.suspend();
    };
    await leave();
    await fetch(`${origin.url}/v.mp4`, { validator: '"v1"' });
    expect(origin.requests.pop()?.headers.range).toBe('bytes=700000-');
    await leave();
    await fetch(`${origin.url}/v.mp4`);
    expect(origin.requests.pop()?.headers.range).toBeUndefined();
    expect(bytes.equals((await stored()) ?? Buffer.alloc(0))).toBe(true);
  });

  it('counts a 416 as done when everything is there', async () => {
    const bytes = randomBytes(MIB);
    const { origin, fetch, stored, store } = await start((request, response) =>
      serveFile(request, response, bytes, '"v1"'),
    );
    const write = await store.resumeWrite(KEY);
    await write.write(bytes);
    await write.suspend();
    expect((await fetch(`${origin.url}/v.mp4`, { validator: '"v1"' })).sizeBytes).toBe(MIB);
    expect(origin.requests).toHaveLength(1);
    expect(bytes.equals((await stored()) ?? Buffer.alloc(0))).toBe(true);
  });

  it('refuses an empty file and one above the size limit, declared or not', async () => {
    const { origin, fetch, store } = await start(
      (request, response) => {
        if (request.url === '/empty') response.end();
        else if (request.url === '/declared') response.writeHead(200, { 'content-length': 3 * MIB }).write('x');
        else {
          const more = (): void => {
            while (!response.destroyed && response.write(Buffer.alloc(65_536)));
          };
          response.on('drain', more);
          more();
        }
      },
      { maxBytes: 2 * MIB },
    );
    await expect(fetch(`${origin.url}/empty`)).rejects.toMatchObject({
      code: 'invalid_input',
      messages: ['The input file is empty.'],
    });
    for (const path of ['/declared', '/endless']) {
      await expect(fetch(origin.url + path)).rejects.toMatchObject({
        code: 'invalid_input',
        messages: ['The input file is larger than the maximum size of 2 MiB.'],
      });
    }
    const write = await store.resumeWrite(KEY);
    expect(write.offsetBytes).toBe(0);
    await write.discard();
  });

  it('gives up on an origin that switches protocols', async () => {
    const { origin, fetch } = await start(({ socket }) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'),
    );
    await expect(fetch(`${origin.url}/v.mp4`)).rejects.toMatchObject({ code: 'source_unreachable' });
  });

  it('gives up on an origin that falls silent', async () => {
    const silent = await start(
      (request, response) => {
        if (request.url === '/body') response.writeHead(200, { etag: '"v1"', 'content-length': 1000 }).write('x');
      },
      { idleLimitMs: 500 },
    );
    for (const path of ['/headers', '/body']) {
      await expect(silent.fetch(silent.origin.url + path)).rejects.toMatchObject({
        code: 'source_unreachable',
        messages: ['The input file could not be downloaded: timed out.'],
      });
    }
    expect(silent.origin.requests).toHaveLength(6);
  });

  it('gives up on an origin that sends a byte now and then', async () => {
    const timers: NodeJS.Timeout[] = [];
    const slow = await start(
      (request, response) => {
        const isBody = request.url === '/body';
        if (isBody) response.writeHead(200, { etag: '"v1"', 'content-length': 100_000 });
        else request.socket.write('HTTP/1.1 200 OK\r\nX-Endless: ');
        const write = (): unknown => (isBody ? response.write('x') : request.socket.write('x'));
        timers.push(setInterval(write, 50));
      },
      { rateWindowMs: 400, idleLimitMs: 300 },
    );
    try {
      await expect(slow.fetch(`${slow.origin.url}/body`)).rejects.toMatchObject({
        code: 'source_unreachable',
        details: { reason: 'too slow' },
      });
      await expect(slow.fetch(`${slow.origin.url}/header`)).rejects.toMatchObject({
        code: 'source_unreachable',
        cause: new Error('No answer in time'),
      });
    } finally {
      for (const timer of timers) clearInterval(timer);
    }
  });

  it('stops when it is cancelled and keeps what it has', async () => {
    const abort = new AbortController();
    const { origin, fetch, store } = await start((_request, response) => {
      response.writeHead(200, { etag: '"v1"', 'content-length': 1000 });
      response.write('x'.repeat(100));
    });
    const waiting = fetch(`${origin.url}/v.mp4`, {
      signal: abort.signal,
      onValidator: async () => undefined,
      onProgress: () => abort.abort('why'),
    });
    await expect(waiting).rejects.toMatchObject({ code: 'cancelled', cause: 'why' });
    const write = await store.resumeWrite(KEY);
    expect(write.offsetBytes).toBe(100);
    await write.suspend();
    await expect(fetch(`${origin.url}/v.mp4`, { signal: abort.signal })).rejects.toMatchObject({ code: 'cancelled' });
  });

  it('does not take trouble with its own disk for trouble with the network', async () => {
    const { origin, fetcher, store } = await start((_request, response) => response.end('film'));
    const write = await store.resumeWrite(KEY);
    const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    Object.assign(write, { write: () => Promise.reject(full) });
    await expect(fetcher.fetch(`${origin.url}/v.mp4`, write, {})).rejects.toBe(full);
    expect(origin.requests).toHaveLength(1);
    await (await store.resumeWrite(KEY)).discard();
  });
});
