// Takes the screenshots of README.md and docs/: `npm run screenshots`. Starts a server on a
// directory of its own, makes assets of footage that FFmpeg draws, and opens Chromium. Needs
// ffmpeg, and Chromium: CHROMIUM_PATH, or the one of the system.
import { execFile } from 'node:child_process';
import { appendFile, mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { chromium } from 'playwright-core';
import { loadConfig } from '../dist/config/load-config.js';
import { openDatabase } from '../dist/db/open-database.js';
import { Kinora } from '../dist/server.js';
import { createLogger } from '../dist/telemetry/logger.js';

const images = fileURLToPath(new URL('../docs/images/', import.meta.url));
/** Readers download them with the page. */
const MAX_BYTES = 150_000;
const PADDING_BYTES = 12_000_000;
const TOKEN = { id: '6f0a2a3e-3b0e-4a8c-9b1d-2d5a6c7e8f90', secret: 'of-the-screenshots' };

const box = (x, y, width, height, color) => `drawbox=x=${x}:y=${y}:w=${width}:h=${height}:color=${color}:t=fill`;
/** Flat colors keep the files small. */
const scene = (sky, sea, seconds, ...boxes) =>
  [`color=c=${sky}:s=1280x720:r=5:d=${seconds}`, box(0, 470, 1280, 250, sea), ...boxes].join(',');
const sun = (x, y, size, color) => [
  box(x + size / 6, y, (2 * size) / 3, size, color),
  box(x, y + size / 6, size, (2 * size) / 3, color),
];
const boat = (x, y, color) => [
  box(x, y, 190, 34, color),
  box(x + 26, y + 34, 138, 14, color),
  box(x + 90, y - 120, 10, 120, color),
  box(x + 100, y - 112, 62, 84, '0xfff4e0'),
];
/** File names and what they show. */
const footage = {
  'Harbor at dusk.mp4': scene(
    ...['0xf2a65a', '0x27476e', 44, ...sun(820, 250, 180, '0xffe1a8'), ...boat(240, 490, '0x10233d')],
    ...[...boat(900, 560, '0x16304f'), box(0, 440, 330, 30, '0x5b3a29')],
  ),
  'Morning ferry.mp4': scene(
    '0xbfe3f0',
    '0x2f7f86',
    72,
    ...sun(160, 120, 130, '0xfffbe0'),
    ...boat(620, 500, '0xb03a2e'),
  ),
  'Lighthouse.mp4': scene(
    ...['0x1d2746', '0x0f1730', 47, box(930, 150, 70, 330, '0xe8e6e1'), box(930, 230, 70, 60, '0xc0392b')],
    ...[box(930, 350, 70, 60, '0xc0392b'), box(920, 110, 90, 40, '0xffd76a'), box(760, 440, 420, 40, '0x2b2f3a')],
  ),
  'Regatta, last lap.mp4': scene(
    ...['0x9ad1f5', '0x1f6fb2', 118, ...boat(120, 480, '0x17324d'), ...boat(470, 520, '0x8e2f3c')],
    ...boat(860, 500, '0x2f5d3a'),
  ),
};

const draw = async (graph, path) => {
  const encoding = ['-c:v', 'libx264', '-preset', 'ultrafast', '-crf', '20', '-g', '10', '-pix_fmt', 'yuv420p'];
  await promisify(execFile)('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', graph, ...encoding, path]);
  // Flat colors make tiny files, which would be uploaded before anyone sees it: an empty box makes
  // this one larger.
  const padding = Buffer.alloc(PADDING_BYTES);
  padding.writeUInt32BE(PADDING_BYTES, 0);
  padding.write('free', 4);
  await appendFile(path, padding);
};

const start = async (dataDir) => {
  const env = {
    KINORA_DATA_DIR: dataDir,
    KINORA_PORT: '0',
    KINORA_SAMPLE: 'false',
    KINORA_RTMP_PORT: 'off',
    KINORA_SRT_PORT: 'off',
    KINORA_TOKEN: `${TOKEN.id}:${TOKEN.secret}`,
  };
  const { config } = loadConfig({ env });
  const kinora = new Kinora(config, { logger: createLogger('error', 'text') });
  await kinora.start();
  return kinora;
};

const listAssets = async (url) => {
  const headers = { authorization: `Basic ${btoa(`${TOKEN.id}:${TOKEN.secret}`)}` };
  return (await (await fetch(`${url}/video/v1/assets`, { headers })).json()).data;
};

const untilReady = async (url) => {
  for (;;) {
    const assets = await listAssets(url);
    const errored = assets.find(({ status }) => status === 'errored');
    if (errored) throw new Error(`${errored.meta.title}: ${errored.errors.messages.join(' ')}`);
    if (assets.length === Object.keys(footage).length && assets.every(({ status }) => status === 'ready')) return;
    await delay(200);
  }
};

const startBrowser = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--autoplay-policy=no-user-gesture-required'],
  });

const shoot = async (page, name) => {
  const path = join(images, name);
  await page.screenshot({ path, animations: 'disabled' });
  const { size } = await stat(path);
  if (size > MAX_BYTES) throw new Error(`docs/images/${name} has ${size} bytes; at most ${MAX_BYTES} are allowed`);
  console.log(`docs/images/${name}  ${size} bytes`);
};

/** Views of two weeks; the latest ones go on. */
const addViews = async (dataDir) => {
  const database = await openDatabase({ dataDir, logger: createLogger('error', 'text') });
  await sql`
    insert into video_view (environment_id, id, started_at, seen_at, ended_at, asset_id, dimensions, video_startup_time,
      watch_time, playing_time, rebuffer_count, rebuffer_duration)
    select environment_id, 'view-' || n, started_at, case when goes_on then now() + interval '1 hour' else ended_at end,
      case when not goes_on then ended_at end, asset.id,
      jsonb_build_object('country', (array['NZ', 'IS', 'UY'])[1 + n % 3], 'browser', (array['Firefox', 'Chrome'])[1 + n % 2],
        'operating_system', (array['Linux', 'iOS', 'Windows'])[1 + n % 3],
        'viewer_device_category', (array['phone', 'desktop', 'phone', 'tv'])[1 + n % 4]),
      300 + n * 37 % 900 + 1500 * (n % 19 = 0)::int, seconds * 1000, seconds * 990, n % 7 / 5, n % 7 / 5 * 400
    from (
      select n, n < 24 as goes_on, 20 + n * 13 % 90 as seconds,
        now() - case when n < 24 then interval '1 minute' * n else interval '1 hour' * (340 * power(n / 1700.0, 1.2) + 5 + 5 * sin(n * 0.05)) end
          as started_at
      from generate_series(1, 1700) n
    ) as made
    cross join lateral (select started_at + interval '1 second' * seconds as ended_at) as at_end
    join (select id, environment_id, row_number() over (order by meta->>'title') as number from asset) as asset
      on asset.number = 1 + floor(sqrt(n * 7 % 16))::int`.execute(database.queryable);
  await database.close();
};

/** The upload screen in the middle of its work, then the list, then the player. */
const takeScreenshots = async (kinora, files) => {
  const browser = await startBrowser();
  try {
    const context = await browser.newContext({ viewport: { width: 1120, height: 660 }, locale: 'en-US' });
    // A busy machine takes its time.
    context.setDefaultTimeout(180_000);
    const page = await context.newPage();
    await page.goto(await kinora.createConsoleLink());
    await page.getByRole('link', { name: 'Upload', exact: true }).click();
    const network = await context.newCDPSession(page);
    const limitUpload = (uploadThroughput) =>
      network.send('Network.emulateNetworkConditions', {
        offline: false,
        latency: 0,
        downloadThroughput: -1,
        uploadThroughput,
      });
    await network.send('Network.enable');
    await limitUpload(1_500_000);
    await page.getByTestId('upload-files').setInputFiles(files);
    await page.waitForFunction(() =>
      [...document.querySelectorAll('.tray progress')].some(({ value }) => value > 30 && value < 80),
    );
    await shoot(page, 'console-upload.png');
    await limitUpload(-1);
    await page.getByRole('heading', { name: `${files.length} ready` }).waitFor();
    await page.getByRole('link', { name: 'Assets', exact: true }).first().click();
    await untilReady(kinora.url);
    await page.getByRole('region', { name: 'Uploads' }).getByRole('button', { name: 'Close' }).click();
    await page.waitForFunction(() =>
      [...document.querySelectorAll('img.poster')].every((image) => image.naturalWidth > 0),
    );
    await shoot(page, 'console-assets.png');

    const asset = (await listAssets(kinora.url)).find(({ meta }) => meta.title.startsWith('Harbor'));
    await page.setViewportSize({ width: 960, height: 540 });
    await page.goto(`${kinora.url}/${asset.playback_ids[0].id}?autoplay=false&muted&t=31`);
    await page.waitForFunction(
      () => document.querySelector('video').readyState > 2 && !document.querySelector('video').seeking,
    );
    await page.keyboard.press('k');
    await page.waitForFunction(() => document.querySelector('video').currentTime > 31.2);
    await page.keyboard.press('k');
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByLabel('Speed').waitFor();
    await shoot(page, 'player.png');
  } finally {
    await browser.close();
  }
};

const takeAudience = async (kinora) => {
  const browser = await startBrowser();
  try {
    const context = await browser.newContext({ viewport: { width: 1120, height: 900 }, locale: 'en-US' });
    context.setDefaultTimeout(180_000);
    const page = await context.newPage();
    await page.goto(await kinora.createConsoleLink());
    await page.getByRole('link', { name: 'Audience', exact: true }).click();
    await page.locator('.charts canvas').nth(4).waitFor();
    await shoot(page, 'console-audience.png');
  } finally {
    await browser.close();
  }
};

const directory = await mkdtemp(join(tmpdir(), 'kinora-screenshots-'));
await mkdir(images, { recursive: true });
const dataDir = join(directory, 'data');
let kinora = await start(dataDir);
try {
  const files = [];
  for (const [name, graph] of Object.entries(footage)) {
    files.push(join(directory, name));
    await draw(graph, files.at(-1));
    console.log(`drawn: ${basename(name)}`);
  }
  await takeScreenshots(kinora, files);
  await kinora.stop();
  await addViews(dataDir);
  kinora = await start(dataDir);
  await takeAudience(kinora);
} finally {
  await kinora.stop();
  await rm(directory, { recursive: true, force: true });
}
