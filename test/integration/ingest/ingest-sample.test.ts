import { afterAll, expect, it } from 'vitest';
import { cleanUpServers, makeDataDir, startServer, until } from '../../support/servers/server-process.js';
import { api, settled } from '../../support/wire/create-asset.js';

afterAll(cleanUpServers);

it('makes one sample asset on the first start, also with a given token, and none on the second', async () => {
  const dataDir = makeDataDir();
  const options = { SAMPLE: 'true', ALLOW_PRIVATE_SOURCES: 'false' };
  const first = await startServer({ dataDir, options });
  await until('the sample is announced', () => first.output().includes('A sample video plays at'), 120_000);
  const page = /A sample video plays at +(\S+)/.exec(first.output())![1]!;
  const list = async (server: typeof first) =>
    ((await (await api(server, 'GET', '/video/v1/assets')).json()) as { data: { id: string }[] }).data;
  const [sample] = await list(first);
  expect(await settled(first, sample!.id)).toMatchObject({ status: 'ready', meta: { title: 'Kinora sample' } });
  const html = await fetch(page, { headers: { accept: 'text/html' } });
  expect([html.status, html.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')]);
  expect(await (await fetch(`${page}.m3u8`)).text()).toContain('#EXT-X-STREAM-INF');
  expect(await first.stop()).toBe(0);

  const second = await startServer({ dataDir, options: { SAMPLE: 'true' } });
  expect(await list(second)).toHaveLength(1);
  expect(second.output()).not.toContain('sample');
  expect(await second.stop()).toBe(0);
});

it('says once in the log that the sample could not be made, and works on', async () => {
  // Too little memory for a frame of that size.
  const server = await startServer({
    dataDir: makeDataDir(),
    options: { SAMPLE: 'true', MEDIA_MEMORY: '160MiB' },
  });
  await until('the failure is logged', () => server.logText().includes('sample video failed'), 120_000);
  await until('the output says so', () => server.output().includes('The sample video could not be created'), 120_000);
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  expect(await server.stop()).toBe(0);
  expect(server.log().filter(({ msg }) => msg === 'sample video failed')).toHaveLength(1);
  expect(server.output()).not.toContain('A sample video');
});
