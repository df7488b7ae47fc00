import { createReadStream, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { build, createServer, type ViteDevServer } from 'vite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { useBrowser } from '../support/players/browser.js';
import { type Booted, boot } from '../support/servers/boot.js';
import { type Origin, startOrigin } from '../support/servers/origin.js';
import { settled } from '../support/wire/create-asset.js';

const built = mkdtempSync(join(tmpdir(), 'kinora-react-'));
const types: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript' };

let server: Booted;
let vite: ViteDevServer;
let site: Origin;

beforeAll(async () => {
  server = await boot();
  process.env.KINORA_URL = server.url;
  process.env.KINORA_TOKEN = `${server.token.id}:${server.token.secret}`;
  // Loads the files of the app as Next.js does on its server, without Next.js.
  vite = await createServer({
    root: 'examples/next-player',
    configFile: false,
    logLevel: 'error',
    appType: 'custom',
    server: { middlewareMode: true, hmr: false, ws: false, watch: null },
    optimizeDeps: { noDiscovery: true },
  });
  await build({
    root: 'examples/react-player',
    configFile: false,
    logLevel: 'error',
    build: { outDir: built, emptyOutDir: true, reportCompressedSize: false, minify: false },
  });
  site = await startOrigin((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://site');
    if (pathname === '/favicon.ico') {
      response.writeHead(204).end();
      return;
    }
    const path = join(built, pathname === '/' ? 'index.html' : pathname);
    response.setHeader('content-type', types[extname(path)] ?? 'application/octet-stream');
    createReadStream(path)
      .on('error', () => response.writeHead(404).end())
      .pipe(response);
  });
});
afterAll(async () => {
  delete process.env.KINORA_URL;
  delete process.env.KINORA_TOKEN;
  await vite?.close();
  await site?.stop();
  await server?.stop();
  rmSync(built, { recursive: true, force: true });
});
const browser = useBrowser();

let playbackId: string;
let environmentId: string;

it('Next.js: makes an upload for the browser, and a page with the player', async () => {
  const { POST } = await vite.ssrLoadModule('/app/api/uploads/route.js');
  const response: Response = await POST(new Request('http://localhost:3000/api/uploads', { method: 'POST' }));
  expect(response.status).toBe(201);
  const { id, url } = (await response.json()) as { id: string; url: string };
  const file = new Uint8Array(readFileSync(await fixture('copy-720p.mp4')));
  expect((await fetch(url, { method: 'PUT', body: file })).status).toBe(200);
  const { kinora } = await vite.ssrLoadModule('/app/kinora.js');
  const { asset_id: assetId } = await kinora().video.uploads.retrieve(id);
  const asset = await settled(server, assetId);
  playbackId = asset.playback_ids![0]!.id;

  const { default: Watch } = await vite.ssrLoadModule('/app/watch/[id]/page.jsx');
  const page = renderToStaticMarkup(await Watch({ params: Promise.resolve({ id: assetId }) }));
  expect(page).toContain('<h1>Untitled</h1>');
  expect(page).toContain(`<mux-player src="${server.url}/${playbackId}.m3u8"`);
  ({ environment_id: environmentId } = await kinora().system.utilities.whoami());
  expect(page).toContain(`env-key="${environmentId}" beacon-collection-domain="${new URL(server.url).host}"`);
  const { default: Home } = await vite.ssrLoadModule('/app/page.jsx');
  expect(renderToStaticMarkup(createElement(Home))).toContain('type="file"');
});

it('React: plays, and says what is wrong', async () => {
  const { page, watched } = await browser.open();
  // The only host to which mux-embed reports without a certificate.
  const local = server.url.replace('127.0.0.1', 'localhost');
  const report = page.waitForResponse(`${local}/`);
  await page.goto(`${site.url}/?server=${local}&id=${playbackId}&environment=${environmentId}`);
  await page.evaluate(() => document.querySelector('video')!.play());
  await page.waitForFunction(() => document.querySelector('video')!.currentTime > 0.5);
  expect((await report).request().postData()).toContain(`"ake":"${environmentId}"`);
  expect((await report).ok()).toBe(true);
  expect(watched.problems).toEqual([]);
  watched.expected = /404|manifestLoadError/;
  await page.goto(`${site.url}/?server=${server.url}&id=${'x'.repeat(40)}`);
  await page.locator('[role=alert]').waitFor();
  expect(await page.locator('[role=alert]').textContent()).toContain('manifestLoadError');
});
