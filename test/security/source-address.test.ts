import { createServer } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import type { SourceClientOptions } from '#kinora/net/source-client.js';
import { startFetching } from '../support/fetching.js';
import { type Origin, startOrigin } from '../support/servers/origin.js';

const REFUSED = { code: 'invalid_input', messages: ['The input URL is not allowed.'] };

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

/** A server inside, which nobody may reach, and a fetcher in its default configuration. */
const start = async (overrides: Partial<SourceClientOptions> = {}) => {
  const origin: Origin = await startOrigin((_request, response) => response.end('secret'));
  const fetching = startFetching({ allowPrivate: false, ...overrides });
  cleanUps.push(origin.stop, fetching.stop);
  return { origin, ...fetching };
};

describe('a source URL', () => {
  it('reaches no inside address, however it is written', async () => {
    const { origin, fetch } = await start();
    const hosts = [
      '127.0.0.1',
      '127.0.0.1.',
      '2130706433',
      '0x7f000001',
      '0x7f.1',
      '0177.0.0.1',
      '017700000001',
      '127.1',
      '127.0.1',
      '127%2e0%2e0%2e1',
      '①②⑦.0.0.1',
      '0',
      '0.0.0.0',
      'localhost',
      'LOCALHOST',
      '[::1]',
      '[0:0:0:0:0:0:0:1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[::127.0.0.1]',
      '[64:ff9b::7f00:1]',
      '[2002:7f00:1::]',
      '[2001:0:4136:e378:8000:63bf:80ff:fffe]',
      '[fe80::1]',
      '[fd00::1]',
      '10.0.0.1',
      '100.64.0.1',
      '192.168.0.1',
      '169.254.169.254',
      '[fd00:ec2::254]',
      '224.0.0.1',
      '255.255.255.255',
    ];
    for (const host of hosts) {
      await expect(fetch(`http://${host}:${origin.port}/`), host).rejects.toMatchObject(REFUSED);
      await expect(fetch(`http://user:secret@${host}:${origin.port}/`), host).rejects.toMatchObject(REFUSED);
    }
    expect(origin.requests).toEqual([]);
  });

  it('has no other protocol than HTTP', async () => {
    const { fetch } = await start({ allowPrivate: true });
    for (const url of [
      'file:///etc/passwd',
      'ftp://127.0.0.1/',
      'gopher://127.0.0.1/',
      'data:,x',
      'concat:a|b',
      '/etc/passwd',
      '',
    ]) {
      await expect(fetch(url), url).rejects.toMatchObject(REFUSED);
    }
  });

  it('is refused when any address of its name is inside', async () => {
    const responses: Record<string, string[]> = {
      'inside.example': ['10.0.0.1'],
      'mixed.example': ['93.184.216.34', '127.0.0.1'],
      'mixed6.example': ['93.184.216.34', '::1'],
      'mapped.example': ['::ffff:127.0.0.1'],
      'metadata.example': ['169.254.169.254'],
    };
    const { origin, fetch } = await start({
      resolve: async (name) =>
        (responses[name] ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    });
    for (const name of Object.keys(responses)) {
      await expect(fetch(`http://${name}:${origin.port}/`), name).rejects.toMatchObject(REFUSED);
    }
    expect(origin.requests).toEqual([]);
  });

  it('leads to the address that was judged, not to a later answer of the name server', async () => {
    let responses = 0;
    const { origin, fetch, stored } = await start({
      allowPrivate: ['127.0.0.1/32'],
      resolve: async () => [{ address: responses++ === 0 ? '127.0.0.1' : '127.0.0.2', family: 4 }],
    });
    let reached = 0;
    const inside = createServer((_request, response) => {
      reached += 1;
      response.end('inside');
    });
    await new Promise<void>((resolve) => inside.listen(origin.port, '127.0.0.2', resolve));
    cleanUps.push(() => inside.close());
    await fetch(`http://rebinding.example:${origin.port}/`);
    expect(String(await stored())).toBe('secret');
    await expect(fetch(`http://rebinding.example:${origin.port}/`)).rejects.toMatchObject(REFUSED);
    expect(origin.requests).toHaveLength(1);
    expect(reached).toBe(0);
  });

  it('is judged anew at every redirect', async () => {
    const { origin: inside } = await start();
    let location = '';
    const outside = await startOrigin((_request, response) => response.writeHead(302, { location }).end());
    const { fetch } = await start({ allowedUrls: new Set([`${outside.url}/v.mp4`]) });
    cleanUps.push(outside.stop);
    for (location of [
      `${inside.url}/`,
      `http://localhost:${inside.port}/`,
      `//[::ffff:127.0.0.1]:${inside.port}/`,
      'http://169.254.169.254/latest/meta-data/',
      'file:///etc/passwd',
      'gopher://127.0.0.1/',
      '/elsewhere',
    ]) {
      await expect(fetch(`${outside.url}/v.mp4`), location).rejects.toMatchObject(REFUSED);
    }
    expect(inside.requests).toEqual([]);
    expect(outside.requests.every(({ url }) => url === '/v.mp4')).toBe(true);
  });

  it('of this very server is allowed when it is exactly the one that was named', async () => {
    const origin = await startOrigin((_request, response) => response.end('film'));
    const { fetch } = await start({ allowedUrls: new Set([`${origin.url}/sample.mp4`]) });
    cleanUps.push(origin.stop);
    expect((await fetch(`${origin.url}/sample.mp4`)).sizeBytes).toBe(4);
    for (const path of ['/', '/sample.mp4?x', '/sample.mp4/..', '/sample']) {
      await expect(fetch(origin.url + path), path).rejects.toMatchObject(REFUSED);
    }
    expect(origin.requests).toHaveLength(1);
  });

  it('of a metadata service stays refused where inside addresses are allowed', async () => {
    const { fetch } = await start({ allowPrivate: true });
    for (const host of ['169.254.169.254', '[::ffff:169.254.169.254]', '100.100.100.200', '[fd00:ec2::254]']) {
      await expect(fetch(`http://${host}/latest/meta-data/`), host).rejects.toMatchObject(REFUSED);
    }
  });
});
