import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { useBrowser } from '../../support/players/browser.js';
import { expectAccessible, openConsole } from '../../support/players/console-page.js';
import { type Api, startApi } from '../../support/servers/api.js';
import { boot } from '../../support/servers/boot.js';

const LARGE_BYTES = 4_000_000;

let api: Api;
let server: { url: string; token: { id: string; secret: string } };
let folder: string;

beforeAll(async () => {
  [api, folder] = await Promise.all([
    startApi({ maxUploadBytes: LARGE_BYTES }),
    mkdtemp(join(tmpdir(), 'kinora-console-')),
  ]);
  const [id, secret] = api.token.split(':') as [string, string];
  server = { url: api.origin, token: { id, secret } };
});
afterAll(async () => {
  await api?.stop();
  if (folder) await rm(folder, { recursive: true });
});
const browser = useBrowser();

const trayOf = (page: Page) => page.getByRole('region', { name: 'Uploads' });
const percentIn = async (page: Page): Promise<number> => {
  // biome-ignore lint/performance/useDomNodeTextContent: the name of the file ends with a digit, and the line break counts.
  const text = await trayOf(page).innerText();
  return Number(/(\d+) % of/.exec(text)?.[1] ?? 0);
};
/** Drops a file or folder onto the screen that is open. */
const drop = async (page: Page, path: string): Promise<void> => {
  const devtools = await page.context().newCDPSession(page);
  const data = { items: [], files: [path], dragOperationsMask: 1 };
  const drag = (type: 'dragEnter' | 'dragOver' | 'drop') =>
    devtools.send('Input.dispatchDragEvent', { type, x: 600, y: 300, data });
  await drag('dragEnter');
  await drag('dragOver');
  await page.getByText('Drop to upload').waitFor();
  // Chromium drops only where its last dragover was accepted, and the cover lies there now.
  await drag('dragOver');
  await drag('drop');
};
const choose = (page: Page, files: string | string[]) => page.getByTestId('upload-files').setInputFiles(files);

it('an empty list shows where to drop files and the command; 50 files are uploaded while other screens are open', async () => {
  const { page } = await openConsole(browser, server);
  await page.getByText('No assets yet').waitFor();
  await page.getByText('Drop video or audio files or folders here').waitFor();
  expect(await page.getByRole('region', { name: 'the command' }).textContent()).toContain('curl');
  await expectAccessible(page);

  const files = Array.from({ length: 50 }, (_, index) => join(folder, `part-${index}.mp4`));
  await Promise.all(files.map((path, index) => writeFile(path, `video ${index}`)));
  await choose(page, files);
  await page.getByRole('link', { name: 'Upload', exact: true }).click();
  await page.getByRole('heading', { name: 'Upload', exact: true }).waitFor();
  await trayOf(page).getByRole('heading', { name: '50 preparing' }).waitFor({ timeout: 200_000 });
  await expectAccessible(page);
  await page.context().close();
});

it('continues a file that a reload interrupted at 40 % when it is chosen again; leaving warns', async () => {
  const { page } = await openConsole(browser, server, '/uploads');
  const network = await page.context().newCDPSession(page);
  const limitUpload = (bytesPerSecond: number) =>
    network.send('Network.emulateNetworkConditions', {
      ...{ offline: false, latency: 0, downloadThroughput: -1 },
      uploadThroughput: bytesPerSecond,
    });
  await network.send('Network.enable');
  const path = join(folder, 'large.mp4');
  await writeFile(path, Buffer.alloc(LARGE_BYTES, 'kinora'));
  await limitUpload(400_000);
  await choose(page, path);
  await expect.poll(() => percentIn(page), { timeout: 120_000 }).toBeGreaterThanOrEqual(45);

  const warned: string[] = [];
  page.on('dialog', (dialog) => {
    warned.push(dialog.type());
    void dialog.accept();
  });
  await page.reload();
  expect(warned).toEqual(['beforeunload']);
  await trayOf(page).getByText('Choose the same file again to continue').waitFor();

  const offset = page.waitForRequest((request) => request.method() === 'PATCH' && request.url().includes('/tus/'));
  await limitUpload(400_000);
  await choose(page, path);
  expect(Number((await offset).headers()['upload-offset']) / LARGE_BYTES).toBeGreaterThanOrEqual(0.39);
  await page.getByRole('button', { name: 'Pause large.mp4' }).click();
  await trayOf(page)
    .getByText(/Paused at \d+ %/)
    .waitFor();
  await limitUpload(-1);
  await page.getByRole('button', { name: 'Resume large.mp4' }).click();
  await trayOf(page).getByRole('heading', { name: '1 preparing' }).waitFor();
});

it('takes folders that are dropped anywhere, and URLs', async () => {
  const { page } = await openConsole(browser, server, '/webhooks');
  const dropped = join(folder, 'holiday');
  await mkdir(join(dropped, 'day 2'), { recursive: true });
  for (const name of ['beach.mp4', 'day 2/boat.mov', 'notes.txt', '.hidden.mp4'])
    await writeFile(join(dropped, name), `content of ${name}`);
  await drop(page, dropped);
  await trayOf(page).getByRole('heading', { name: '2 preparing' }).waitFor();
  await page.getByText('Drop to upload').waitFor({ state: 'hidden' });

  await page.getByRole('link', { name: 'Upload', exact: true }).click();
  await page.getByLabel('Who may watch').selectOption('signed');
  await page.getByRole('textbox', { name: 'URLs' }).fill('https://example.com/pier.mp4 ftp://example.com/x.mp4');
  await page.getByRole('button', { name: 'Create assets' }).click();
  await page.getByText('“ftp://example.com/x.mp4” is not a URL. URLs begin with https:// or http://.').waitFor();
  await page.getByRole('textbox', { name: 'URLs' }).fill('https://example.com/pier.mp4\nhttps://example.com/gulls.mp4');
  await page.getByRole('button', { name: 'Create assets' }).click();
  await trayOf(page).getByText('gulls').first().waitFor();
  const listOf = async (path: string) => (await (await api.call('GET', `${path}?limit=100`)).json()).data;
  const uploads = await listOf('/video/v1/uploads');
  const names = uploads.map((upload: { new_asset_settings: { meta?: object } }) => upload.new_asset_settings.meta);
  expect(names).toEqual(expect.arrayContaining([{ title: 'beach.mp4' }, { title: 'boat.mov' }]));
  expect(JSON.stringify(names)).not.toMatch(/notes|hidden/);
  const titlesOf = async () =>
    (await listOf('/video/v1/assets')).map((asset: { meta?: { title?: string }; playback_ids: { policy: string }[] }) =>
      [asset.meta?.title, asset.playback_ids[0]!.policy].join(),
    );
  await expect.poll(titlesOf).toEqual(expect.arrayContaining(['pier.mp4,signed', 'gulls.mp4,signed']));
});

it('follows an upload until its asset is ready or errored, and asks before a file that is no media is sent', async () => {
  const booted = await boot();
  const { page } = await openConsole(browser, booted, '/uploads');
  const tray = trayOf(page);
  const [bad, notes] = [join(folder, 'talk.mp4'), join(folder, 'notes.docx')];
  await writeFile(bad, 'This is not a video.');
  await writeFile(notes, 'These are notes.');
  await choose(page, [await fixture('h264-aac.mp4'), bad]);
  await tray.getByRole('heading', { name: '1 failed, 1 ready' }).waitFor({ timeout: 120_000 });
  expect(await tray.getByText('Uploaded').count()).toBe(0);
  await tray.locator('.upload', { hasText: 'talk.mp4' }).getByText('not a valid video').waitFor();
  await tray.locator('.upload', { hasText: 'h264-aac.mp4' }).getByText('Ready').waitFor();
  await expectAccessible(page);
  await tray.getByRole('button', { name: 'Hide those that are ready' }).click();
  await tray.getByRole('heading', { name: '1 failed' }).waitFor();
  await tray.getByRole('link', { name: 'talk.mp4' }).click();
  await page.getByRole('region', { name: 'Problem' }).getByText('not a valid video').waitFor();
  await page.goBack();

  const question = page.getByRole('alertdialog', { name: 'Upload “notes.docx” anyway?' });
  await choose(page, notes);
  await question.getByRole('button', { name: 'Leave it out' }).click();
  await question.waitFor({ state: 'hidden' });
  await choose(page, [notes, bad]);
  // The other file doesn't wait for the answer.
  await tray.getByText('2 failed').waitFor();
  await question.getByRole('button', { name: 'Leave it out' }).click();
  await tray.getByRole('heading', { name: '2 failed' }).waitFor();
  await choose(page, notes);
  await question.getByRole('button', { name: 'Upload anyway' }).click();
  await tray.getByRole('heading', { name: '3 failed' }).waitFor();
  await page.context().close();
  await booted.stop();
});

it('makes assets of the default quality of the environment, or of the chosen one', async () => {
  const { id: environmentId } = await api.newEnvironment('Archive', 'plus');
  const token = await api.newToken({ name: 'archive', environmentId });
  const [id, secret] = token.split(':') as [string, string];
  const { page } = await openConsole(browser, { ...server, token: { id, secret } }, '/uploads');
  const path = join(folder, 'reef.mp4');
  await writeFile(path, 'content of the reef');
  await drop(page, path);
  await trayOf(page).getByRole('heading', { name: '1 preparing' }).waitFor();
  const quality = page.getByLabel('Video quality');
  expect(await quality.locator('option:checked').textContent()).toBe('Default of the environment');
  await quality.selectOption('Premium');
  await page.getByRole('textbox', { name: 'URLs' }).fill('https://example.com/shoal.mp4');
  await page.getByRole('button', { name: 'Create assets' }).click();
  await trayOf(page).getByRole('heading', { name: '2 preparing' }).waitFor();
  const { data } = await (await api.callAs(token, 'GET', '/video/v1/assets')).json();
  const qualities = data.map((asset: { meta: { title: string }; video_quality: string }) => [
    asset.meta.title,
    asset.video_quality,
  ]);
  expect(Object.fromEntries(qualities)).toEqual({ 'reef.mp4': 'plus', 'shoal.mp4': 'premium' });
});
