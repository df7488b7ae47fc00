import { readFile, rm } from 'node:fs/promises';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type SeededView, seedDataDir, seedError, seedViews, viewAt } from '../../support/audience-views.js';
import { fixture } from '../../support/media/fixtures.js';
import { useBrowser } from '../../support/players/browser.js';
import { type AdministratorPage, expectAccessible, openAsAdministrator } from '../../support/players/console-page.js';
import { tabTo, unreachable } from '../../support/players/keyboard.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { makeTestDataDir } from '../../support/servers/database.js';
import type { Origin } from '../../support/servers/origin.js';
import { api, createAsset, serveFiles, settled } from '../../support/wire/create-asset.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const token = { id: '0b6b9f0e-3f0f-4b36-9f0d-8f3f7f1f2c11', secret: 'of-the-audience' };
/** A spreadsheet would run it. */
const FORMULA = '=HYPERLINK("http://evil.example";"Win")';

let dataDir: string;
let origin: Origin;
let server: Booted;
let app: AdministratorPage;
let assetId: string;
let liveId: string;

const phone = { browser: 'Safari', operating_system: 'iOS', viewer_device_category: 'phone', country: 'NZ' };
const desktop = { browser: 'Firefox', operating_system: 'Linux', viewer_device_category: 'desktop' };

/** Eight views of this week, of which two go on, and one of three weeks ago. */
const viewsOf = (nowMs: number, errorId: number): SeededView[] => {
  const goesOn = { isEnded: false, seenMs: nowMs + HOUR };
  return [
    viewAt(nowMs - 90 * MINUTE, 'whole', { assetId, dimensions: phone, ranges: [[0, 6000]] }),
    viewAt(nowMs - 90 * MINUTE, 'half', { assetId, dimensions: desktop, ranges: [[0, 2000]] }),
    viewAt(nowMs - 90 * MINUTE, 'again', {
      ...{ assetId, dimensions: phone, rebuffers: 1, rebufferMs: 6000 },
      ranges: [
        [3000, 4500],
        [3000, 4500],
        [3000, 4500],
        [3000, 4500],
        [3000, 4500],
      ],
    }),
    viewAt(nowMs - 5 * HOUR, 'failed', {
      ...{ assetId, errorId, isFailed: true, startupMs: null, watchMs: 0, playingMs: 0, dimensions: phone },
    }),
    viewAt(nowMs - 5 * HOUR, 'left', { startupMs: null, watchMs: 0, playingMs: 0 }),
    viewAt(nowMs - 5 * HOUR, 'live', { liveStreamId: liveId, dimensions: desktop }),
    viewAt(nowMs - 20 * MINUTE, 'on', { assetId, ...goesOn, dimensions: desktop }),
    viewAt(nowMs - 20 * MINUTE, 'live-on', { liveStreamId: liveId, ...goesOn }),
    viewAt(nowMs - 20 * DAY, 'old', { assetId }),
  ];
};

beforeAll(async () => {
  dataDir = await makeTestDataDir();
  origin = await serveFiles([await fixture('h264-aac.mp4')]);
  server = await boot({ dataDir, token });
  const inputs = [{ url: `${origin.url}/0` }];
  const created = await createAsset(server, { inputs, playback_policies: ['public'], meta: { title: 'Waves' } });
  assetId = (await settled(server, created.id)).id;
  const stream = { playback_policies: ['public'], meta: { title: 'Council' } };
  liveId = (await (await api(server, 'POST', '/video/v1/live-streams', stream)).json()).data.id;
  await server.stop();
  await seedDataDir(dataDir, async (database, environmentId) => {
    const errorId = await seedError(database, environmentId, '2004', FORMULA);
    await seedViews(database, environmentId, viewsOf(Date.now(), errorId));
  });
  server = await boot({ dataDir, token });
  app = await openAsAdministrator(browser, server);
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
  await rm(dataDir, { recursive: true, force: true });
});
const browser = useBrowser();

const open = async (path: string, heading: string): Promise<Page> => {
  await app.open(path, heading);
  await app.page.locator('.figures').waitFor();
  return app.page;
};
const figures = async (page: Page): Promise<Record<string, string>> =>
  Object.fromEntries(
    await page
      .locator('.figure')
      .evaluateAll((all) =>
        all.map((figure) => [figure.querySelector('dt')!.textContent, figure.querySelector('strong')!.textContent]),
      ),
  );
const download = async (page: Page, button: Locator): Promise<string[][]> => {
  const [file] = await Promise.all([page.waitForEvent('download'), button.click()]);
  const lines = (await readFile(await file.path(), 'utf8')).trimEnd().split('\r\n');
  return lines.map((line) => [...line.matchAll(/"((?:[^"]|"")*)"/g)].map(([, cell]) => cell!.replaceAll('""', '"')));
};
const rowsOf = (page: Page, table: string): Promise<string[][]> =>
  page
    .getByRole('table', { name: table, exact: true })
    .locator('tbody tr')
    .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent!)));

it('the figures and lists are those of the views', async () => {
  const page = await open('/audience', 'Audience');
  expect(await figures(page)).toEqual({
    'Viewers now': '2',
    // Those that began together.
    Peak: '3',
    Views: '8',
    'Watch time': '6:00',
    'Startup time': expect.stringMatching(/^(49\d|50\d|51\d) ms$/),
    Rebuffering: '1.67 %',
    Failures: '1',
    'Left before the start': '1',
  });
  expect(await rowsOf(page, 'Top assets')).toEqual([['Waves', '', '5', '4:00', '2.5 %']]);
  expect(await rowsOf(page, 'Top live streams')).toEqual([['Council', '', '2', '2:00', '0 %']]);
  expect(await rowsOf(page, 'Errors')).toEqual([[`2004 ${FORMULA}`, '', '1']]);
  expect(await rowsOf(page, 'Devices')).toEqual([
    ['Desktop', '', '3'],
    ['Phone', '', '3'],
  ]);
  expect(await rowsOf(page, 'Countries')).toEqual([['New Zealand', '', '3']]);
  expect(await rowsOf(page, 'Browsers')).toEqual([
    ['Firefox', '', '3'],
    ['Safari', '', '3'],
  ]);
  expect(await rowsOf(page, 'Operating systems')).toEqual([
    ['Linux', '', '3'],
    ['iOS', '', '3'],
  ]);
  await page.getByRole('combobox', { name: 'Time' }).selectOption('Last 30 days');
  await expect.poll(async () => (await figures(page)).Views).toBe('9');
});

it('each chart draws, has a table behind it and a file, in which nothing is a formula', async () => {
  const page = await open('/audience', 'Audience');
  const charts = ['Viewers in the last 30 minutes', 'Views', 'Watch time', 'Startup time', 'Rebuffering'];
  for (const title of charts) {
    const chart = page.getByRole('figure', { name: title, exact: true });
    await chart.locator('canvas').waitFor();
    const lines = await download(page, chart.getByRole('button', { name: `Download ${title} as CSV` }));
    await chart.getByRole('button', { name: `${title} as a table` }).click();
    await chart.getByRole('table').waitFor();
    const rows = await rowsOf(page, title);
    expect(rows).toHaveLength(lines.length - 1);
    expect(rows).toHaveLength(title === charts[0] ? 180 : 7);
  }
  const sumOf = (lines: string[][]): number => lines.slice(1).reduce((sum, cells) => sum + Number(cells[1]), 0);
  const csv = (title: string) => download(page, page.getByRole('button', { name: `Download ${title} as CSV` }));
  expect(sumOf(await csv('Views'))).toBe(8);
  expect(sumOf(await csv('Watch time'))).toBe(6 * MINUTE);
  const viewers = await csv('Viewers in the last 30 minutes');
  expect(viewers[0]).toEqual(['time', 'viewers']);
  expect([viewers[1]![1], viewers.at(-1)![1]]).toEqual(['0', '2']);
  expect(await csv('Errors')).toEqual([
    ['code', 'message', 'views'],
    ['2004', `'${FORMULA}`, '1'],
  ]);
  await expectAccessible(page);
});

it('the keyboard alone opens the table of a chart and scrolls it, in both themes and widths', async () => {
  const page = await open('/audience', 'Audience');
  await page.locator('canvas').nth(4).waitFor();
  expect(await unreachable(page)).toEqual([]);
  const button = page.getByRole('button', { name: 'Views as a table' });
  await tabTo(page, button);
  await page.keyboard.press('Enter');
  const table = page.getByRole('region', { name: 'Values of Views' });
  await tabTo(page, table);
  expect(await button.getAttribute('aria-pressed')).toBe('true');
  await expectAccessible(page);
});

it('the number of viewers is asked for again while it is displayed', async () => {
  const page = await open('/audience', 'Audience');
  for (const _ of [1, 2]) await page.waitForResponse(/\/data\/v1\/viewers/);
});

it('an asset has its numbers, and the retention in the place of the time slider, which hotspots move', async () => {
  const page = await open(`/assets/${assetId}/audience`, 'Waves');
  expect(await figures(page)).toMatchObject({ 'Viewers now': '1', Views: '5', 'Watch time': '4:00' });
  const curve = page.getByRole('figure', { name: 'Retention' });
  await curve.getByText('of 3 views in 90 days').waitFor();
  const slider = page.frameLocator('iframe.stage').locator('#seek');
  await slider.waitFor();
  const edges = async (of: Locator): Promise<number[]> => {
    const { x, width } = (await of.boundingBox())!;
    return [Math.round(x), Math.round(x + width)];
  };
  await expect.poll(() => edges(curve.locator('.retention-plot'))).toEqual(await edges(slider));

  await curve.getByRole('button', { name: 'Retention as a table' }).click();
  const rows = await rowsOf(page, 'Retention');
  expect(rows[0]).toEqual(['0:00.000', '67 %', '0.7 times']);
  const lines = await download(page, curve.getByRole('button', { name: 'Download retention as CSV' }));
  const at = (ms: number) => lines.slice(1).findLast(([time]) => Number(time) <= ms)!;
  expect(at(4000)).toEqual([expect.any(String), '0.6667', '2']);
  expect(at(5500)).toEqual([expect.any(String), '0.3333', '0.3333']);
  await curve.locator('.hotspots button').first().click();
  const time = () =>
    page
      .frameLocator('iframe.stage')
      .locator('video')
      .evaluate((video) => (video as HTMLVideoElement).currentTime);
  await expect.poll(time).toBeGreaterThan(2);
  await expectAccessible(page);
});

it('a live stream has its viewers', async () => {
  const page = await open(`/live/${liveId}/audience`, 'Council');
  expect(await figures(page)).toMatchObject({ 'Viewers now': '1', Peak: '1', Views: '2' });
  await expectAccessible(page);
});

it('an asset is deleted with its views only if that is chosen', async () => {
  const page = await open(`/assets/${assetId}/audience`, 'Waves');
  const views = async (): Promise<number> =>
    (await (await api(server, 'GET', `/data/v1/overview?asset_id=${assetId}&timeframe[]=6:days`)).json()).data.totals
      .views;
  expect(await views()).toBe(5);
  const question = page.getByRole('alertdialog', { name: 'Delete “Waves”?' });
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  expect(await question.getByLabel('Also delete its views').isChecked()).toBe(false);
  await question.getByLabel('Also delete its views').check();
  await question.getByRole('button', { name: 'Cancel' }).click();
  // Nothing of it is remembered.
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  expect(await question.getByLabel('Also delete its views').isChecked()).toBe(false);
  await question.getByLabel('Also delete its views').check();
  await expectAccessible(page);
  await question.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('heading', { level: 1, name: 'Assets' }).waitFor();
  expect(await views()).toBe(0);
});

it('an environment without views says how to get some', async () => {
  const empty = await boot();
  try {
    const { page, open } = await openAsAdministrator(browser, empty);
    await open('/audience', 'Audience');
    await page.getByText('Nobody watched in this time').waitFor();
    const snippet = (await page.getByRole('region', { name: 'player with audience' }).textContent())!;
    const { data } = await (await api(empty, 'GET', '/system/v1/whoami')).json();
    expect(snippet).toContain(`env-key="${data.environment_id}"`);
    expect(snippet).toContain(`beacon-collection-domain="${new URL(empty.url).host}"`);
    await expectAccessible(page);
  } finally {
    await empty.stop();
  }
});
