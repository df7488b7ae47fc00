import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { useBrowser } from '../support/players/browser.js';
import { type Booted, boot } from '../support/servers/boot.js';
import { startChatProvider } from '../support/servers/chat-provider.js';
import { until } from '../support/servers/server-process.js';
import { type SlowOrigin, startSlowOrigin } from '../support/servers/slow-origin.js';
import { api, createAsset, settled } from '../support/wire/create-asset.js';

const chapters = [
  { start_time: 0, title: 'Pier' },
  { start_time: 12, title: '<b>Gulls</b>' },
];

let server: Booted;
let origin: SlowOrigin;
let provider: Awaited<ReturnType<typeof startChatProvider>>;
beforeAll(async () => {
  origin = await startSlowOrigin();
  origin.add('video.mp4', await readFile(await fixture('long.mp4')));
  origin.add('en.vtt', Buffer.from('WEBVTT\n\n00:00.000 --> 00:19.000\nHello\n'));
  provider = await startChatProvider(() => ({ chapters }));
  server = await boot({ options: { AI_URL: provider.url, AI_MODEL: 'small' } });
});
afterAll(async () => {
  await server?.stop();
  await provider?.stop();
  await origin?.stop();
});
const browser = useBrowser();

test('a viewer jumps to a chapter on the player page', async () => {
  const text = { url: `${origin.url}/en.vtt`, type: 'text', text_type: 'subtitles', language_code: 'en' };
  const inputs = [{ url: `${origin.url}/video.mp4` }, text];
  const { id } = await createAsset(server, { inputs, playback_policies: ['public'] });
  const asset = await settled(server, id);
  const jobs = '/robots/v0/jobs/generate-chapters';
  const parameters = { asset_id: id, update_asset_chapters: true };
  const made = (await (await api(server, 'POST', jobs, { parameters })).json()) as { data: { id: string } };
  const status = async () => {
    const job = (await (await api(server, 'GET', `${jobs}/${made.data.id}`)).json()) as { data: { status: string } };
    return job.data.status;
  };
  await until('the chapters', async () => (await status()) === 'completed');

  const { page } = await browser.open();
  await page.goto(`${server.url}/${asset.playback_ids![0]!.id}`);
  const slider = page.getByLabel('Seek');
  const marks = () => slider.evaluate((seek) => getComputedStyle(seek).backgroundPosition.split(', ').slice(0, -1));
  await expect.poll(marks).toEqual([expect.stringMatching(/^[56]\d(\.\d+)?% 50%$/)]);
  await page.getByRole('button', { name: 'Settings' }).click();
  const menu = page.getByLabel('Chapter');
  await menu.waitFor();
  expect(await menu.locator('option').allTextContents()).toEqual(['Pier', '<b>Gulls</b>']);
  await menu.selectOption({ label: '<b>Gulls</b>' });
  await page.waitForFunction(() => document.querySelector('video')!.currentTime > 12);
  await page.waitForFunction(() => document.querySelector('#chapter')!.textContent === '<b>Gulls</b>');
  expect(await slider.evaluate((seek) => seek.ariaValueText)).toMatch(/ of .*, <b>Gulls<\/b>$/);
});
