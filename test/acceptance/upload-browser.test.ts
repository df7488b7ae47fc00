import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { paddedVideo, sha256Of } from '../support/media/padded-video.js';
import { useBrowser } from '../support/players/browser.js';
import { type CutProxy, startCutProxy } from '../support/servers/cut-proxy.js';
import { type Origin, startOrigin } from '../support/servers/origin.js';
import {
  cleanUpServers,
  filesBelow,
  makeDataDir,
  type ServerProcess,
  startServer,
} from '../support/servers/server-process.js';
import { api, settled, type WireAsset } from '../support/wire/create-asset.js';

const SIZE_BYTES = 200 * 1024 * 1024;

/** What browsers load of an uploader: a file beside the entry that Node.js would take. */
const browserFile = (entry: string, file: string): string => fileURLToPath(new URL(file, import.meta.resolve(entry)));

const libraries: Readonly<Record<string, string>> = {
  '/upchunk.js': browserFile('@mux/upchunk', './upchunk.mjs'),
  '/mux-uploader.js': browserFile('@mux/mux-uploader', './mux-uploader.mjs'),
  '/tus.js': browserFile('tus-js-client', '../../dist/tus.min.js'),
};

/** Pages of an application, whose origin is not Kinora's; the address to send to is their query. */
const pages: Readonly<Record<string, string>> = {
  upchunk: `<input type="file"><script type="module">
    import { createUpload } from '/upchunk.js';
    document.querySelector('input').onchange = ({ target }) => {
      const upload = createUpload({ endpoint, file: target.files[0], chunkSize: 30720, delayBeforeAttempt: 0.1 });
      upload.on('error', ({ detail }) => end(detail.message));
      upload.on('success', () => end('success'));
    };
  </script>`,
  'mux-uploader': `<mux-uploader dynamic-chunk-size></mux-uploader><script type="module">
    const uploader = document.querySelector('mux-uploader');
    uploader.setAttribute('endpoint', endpoint);
    uploader.addEventListener('uploaderror', ({ detail }) => end(detail.message));
    uploader.addEventListener('success', () => end('success'));
    await import('/mux-uploader.js');
  </script>`,
  tus: `<input type="file"><script src="/tus.js"></script><script>
    document.querySelector('input').onchange = ({ target }) => {
      new tus.Upload(target.files[0], {
        endpoint: endpoint.replace('/u/', '/tus/'),
        retryDelays: [100, 500, 1000, 2000, 4000, 8000],
        onError: (error) => end(error.message),
        onSuccess: () => end('success'),
      }).start();
    };
  </script>`,
};
const html = (page: string): string => `<!doctype html><title>An application</title><body><script>
  const endpoint = decodeURIComponent(location.search.slice(1));
  const end = (how) => { window.outcome ??= how; };
</script>${page}`;

declare global {
  interface Window {
    /** How the upload ended. */
    outcome?: string;
  }
}

const dataDir = makeDataDir();
const names = Object.keys(pages);
let directory: string;
let video: string;
let digest: string;
/**
 * Of each uploader a network that can be cut, whose address stays the same when the server is
 * started again.
 */
let proxies: CutProxy[];
let serverPort: number;
let server: ServerProcess;
let application: Origin;

// The protocol of the last uploader, tus, tells it once more where to send to.
const start = () => startServer({ dataDir, options: { PORT: String(serverPort), PUBLIC_URL: proxies.at(-1)!.url } });
const makeVideo = async (): Promise<void> => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-uploads-'));
  video = join(directory, 'holiday.mp4');
  await paddedVideo(await fixture('h264-aac.mp4'), video, SIZE_BYTES);
  digest = await sha256Of(video);
};

beforeAll(async () => {
  application = await startOrigin(async ({ url = '/' }, response) => {
    const library = libraries[url];
    const page = pages[url.split('?')[0]!.slice(1)] ?? '';
    response.setHeader('content-type', library === undefined ? 'text/html' : 'text/javascript');
    response.end(library === undefined ? html(page) : await readFile(library));
  });
  const first = await startCutProxy();
  serverPort = first.serverPort;
  const others = names.slice(1).map(() => startCutProxy(serverPort));
  proxies = [first, ...(await Promise.all(others))];
  [server] = await Promise.all([start(), makeVideo()]);
});
afterAll(async () => {
  for (const proxy of proxies ?? []) await proxy.stop();
  await application?.stop();
  await cleanUpServers();
  await rm(directory, { recursive: true, force: true });
});
const browser = useBrowser();

const direct = () => ({ url: `http://127.0.0.1:${serverPort}`, token: server.token });
const createUpload = async (): Promise<{ id: string; url: string }> => {
  const settings = { playback_policies: ['public'] };
  const body = { cors_origin: application.url, new_asset_settings: settings };
  const response = await api(direct(), 'POST', '/video/v1/uploads', body);
  expect(response.status).toBe(201);
  return ((await response.json()) as { data: { id: string; url: string } }).data;
};

/**
 * Cuts the network after a third of the file. @returns when it is cut for good, after two thirds
 */
const disturb = async (proxy: CutProxy): Promise<void> => {
  await proxy.breakAfter(SIZE_BYTES / 3);
  const again = proxy.breakAfter(SIZE_BYTES / 3);
  proxy.restore();
  await again;
};

const expectOneWholeAsset = async (uploadId: string): Promise<void> => {
  const assets = await api(direct(), 'GET', `/video/v1/assets?upload_id=${uploadId}`);
  const { data } = (await assets.json()) as { data: WireAsset[] };
  expect(data).toHaveLength(1);
  const upload = await api(direct(), 'GET', `/video/v1/uploads/${uploadId}`);
  expect(await upload.json()).toMatchObject({ data: { status: 'asset_created', asset_id: data[0]!.id } });
  const asset = await settled(direct(), data[0]!.id);
  expect(asset).toMatchObject({ status: 'ready', upload_id: uploadId, ingest_type: 'on_demand_direct_upload' });
  const stored = filesBelow(dataDir).filter((path) => path.includes(asset.id) && path.endsWith('/source'));
  expect(stored).toHaveLength(1);
  expect(await sha256Of(join(dataDir, stored[0]!))).toBe(digest);
};

test(`${names.join(', ')} get their files through cut networks and a server that dies`, async () => {
  const uploads = await Promise.all(
    names.map(async (name, at) => {
      const { id, url } = await createUpload();
      const endpoint = url.replace(new URL(url).origin, proxies[at]!.url);
      // Connections are cut.
      const { page } = await browser.open({ expected: /^(?!uncaught)/ });
      await page.goto(`${application.url}/${name}?${encodeURIComponent(endpoint)}`);
      return { name, id, page };
    }),
  );
  // All of them have a third of their file to send when the server is killed.
  const disturbed = Promise.all(proxies.map(disturb));
  await Promise.all(uploads.map(({ page }) => page.setInputFiles('input[type=file]', video)));
  await disturbed;
  await server.kill();
  server = await start();
  for (const proxy of proxies) proxy.restore();
  for (const { name, id, page } of uploads) {
    await page.waitForFunction(() => window.outcome !== undefined, undefined, { timeout: 200_000 });
    expect(await page.evaluate(() => window.outcome), name).toBe('success');
    await expectOneWholeAsset(id);
  }
});
