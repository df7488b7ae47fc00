import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { useBrowser } from '../../support/players/browser.js';
import {
  type AdministratorPage,
  expectAccessible,
  openAsAdministrator,
  openConsole,
} from '../../support/players/console-page.js';
import { isFocused, tabTo, unreachable } from '../../support/players/keyboard.js';
import { type Publisher, publishForever, startPublisher } from '../../support/processes/publisher.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { freePort } from '../../support/servers/free-port.js';
import { until } from '../../support/servers/server-process.js';
import { api } from '../../support/wire/create-asset.js';

let server: Booted;
let app: AdministratorPage;
let ingestUrl: string;
const publishers: Publisher[] = [];

beforeAll(async () => {
  const rtmpPort = await freePort();
  ingestUrl = `rtmp://127.0.0.1:${rtmpPort}/app`;
  server = await boot({ options: { RTMP_PORT: String(rtmpPort), LIVE_RUNGS: '0' } });
  app = await openAsAdministrator(browser, server);
});
afterEach(() => {
  for (const { process } of publishers.splice(0)) process.kill('SIGKILL');
});
afterAll(() => server?.stop());
const browser = useBrowser(() => ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream']);

interface WireLiveStream {
  readonly id: string;
  readonly stream_key: string;
  readonly [field: string]: unknown;
}
const call = async (method: string, path: string, body?: object) => {
  const text = await (await api(server, method, path, body)).text();
  return text === '' ? undefined : JSON.parse(text).data;
};
const create = (body: object): Promise<WireLiveStream> =>
  call('POST', '/video/v1/live-streams', {
    playback_policies: ['public'],
    new_asset_settings: { playback_policies: ['public'] },
    latency_mode: 'low',
    ...body,
  });
const retrieve = (id: string): Promise<WireLiveStream> => call('GET', `/video/v1/live-streams/${id}`);

it('a live stream is created in a form and shows where an encoder sends, with the key hidden until asked', async () => {
  const { page } = app;
  await app.open('/live', 'Live streams');
  await page.getByText('No live streams yet').waitFor();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Create live stream' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Title', { exact: true }).fill('Harbor');
  await dialog.getByLabel('Latency', { exact: true }).selectOption('reduced');
  await dialog.getByLabel('Who may watch recordings').selectOption('signed');
  await dialog.getByText('More settings').click();
  await dialog.getByLabel('Reconnect window (seconds)').fill('4000');
  await dialog.getByLabel('Longest broadcast (minutes)').fill('90');
  await dialog.getByLabel('Title of recordings').fill('Harbor today');
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.getByRole('alert').getByText('reconnect_window').waitFor();
  await dialog.getByLabel('Reconnect window (seconds)').fill('90.5');
  await dialog.getByRole('button', { name: 'Create' }).click();

  await page.getByRole('heading', { level: 1, name: 'Harbor' }).waitFor();
  const id = new URL(page.url()).pathname.split('/').at(-1)!;
  const stream = await retrieve(id);
  expect(stream).toMatchObject({
    meta: { title: 'Harbor' },
    latency_mode: 'reduced',
    reconnect_window: 90.5,
    max_continuous_duration: 5400,
    playback_ids: [{ policy: 'public' }],
    new_asset_settings: { playback_policies: ['signed'], meta: { title: 'Harbor today' }, master_access: 'none' },
  });
  expect(await page.getByRole('region', { name: 'server' }).textContent()).toBe(ingestUrl);
  expect(await page.content()).not.toContain(stream.stream_key);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const copied = (): Promise<string> => page.evaluate(() => navigator.clipboard.readText());
  await page.getByRole('button', { name: 'Copy stream key' }).click();
  await expect.poll(copied).toBe(stream.stream_key);
  await page.getByRole('button', { name: 'Copy ffmpeg command' }).click();
  await expect.poll(copied).toMatch(new RegExp(`^ffmpeg -re [^]* -f flv ${ingestUrl}/${stream.stream_key}$`));
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Show the key' }).click();
  expect(await page.getByRole('region', { name: 'stream key' }).textContent()).toBe(stream.stream_key);
  await page.getByRole('link', { name: 'API', exact: true }).click();
  await page.getByRole('region', { name: 'the JSON' }).getByText('"latency_mode": "reduced"').waitFor();
  expect(await page.content()).not.toContain(stream.stream_key);
  await page.getByRole('link', { name: 'Encoder', exact: true }).click();

  await page.getByRole('button', { name: 'Reset the key' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Reset' }).click();
  await page.getByText('The live stream has a new key.').waitFor();
  const { stream_key: newKey } = await retrieve(id);
  expect(newKey).not.toBe(stream.stream_key);
  await page.getByRole('button', { name: 'Show the key' }).click();
  await page.getByText(newKey, { exact: true }).waitFor();
});

it('the screen follows a broadcast: connected, live with its player, lost, live again, completed', async () => {
  const { page } = app;
  const { id, stream_key: key } = await create({ meta: { title: 'Regatta' }, reconnect_window: 600 });
  await app.open('/live', 'Live streams');
  const row = page.getByRole('row', { name: /Regatta/ });
  await row.getByText('Idle').waitFor();
  await row.getByRole('link', { name: 'Regatta' }).click();
  await page.getByText('Nothing is on air.').waitFor();

  const publish = async (): Promise<Publisher> => {
    const publisher = await publishForever(`${ingestUrl}/${key}`);
    publishers.push(publisher);
    return publisher;
  };
  const first = await publish();
  const state = (text: string) => page.getByRole('status').getByText(text, { exact: true }).waitFor();
  await state('Live');
  const player = page.frameLocator('iframe[title="Player of Regatta"]').locator('video');
  await expect.poll(() => player.evaluate((video: HTMLVideoElement) => video.readyState)).toBeGreaterThan(0);
  const { active_asset_id: assetId } = await retrieve(id);
  await page.locator('.facts').getByText('RTMP', { exact: true }).waitFor();
  await expectAccessible(page);

  first.process.kill('SIGKILL');
  await state('Encoder lost');
  await page.getByText('The broadcast waits 10 minutes for it').waitFor();
  await publish();
  await state('Live');

  await page.getByRole('link', { name: 'Recordings', exact: true }).click();
  const recording = page.getByRole('table', { name: 'Recordings' }).getByRole('row').nth(1);
  await recording.getByText('Live', { exact: true }).waitFor();
  await expectAccessible(page);
  await page.getByRole('link', { name: 'Simulcast', exact: true }).click();
  await page.getByText('They can be changed when nothing is on air.').waitFor();
  await page.getByRole('link', { name: 'Open the recording' }).click();
  await page.waitForURL(`**/console/assets/${assetId}`);
  await page.locator('.page-actions').getByText('Live', { exact: true }).waitFor();
  await page.getByText('Broadcast over RTMP').waitFor();
  await expectAccessible(page);
  await page.getByRole('link', { name: 'Open the live stream' }).click();

  await page.getByRole('button', { name: 'End the broadcast' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'End the broadcast' }).click();
  await page.getByText('The broadcast is complete.').waitFor();
  await page.getByRole('button', { name: 'End the broadcast' }).waitFor({ state: 'hidden' });
  expect(await retrieve(id)).toMatchObject({ status: 'idle', recent_asset_ids: [assetId] });
  await page.getByRole('link', { name: 'Events', exact: true }).last().click();
  await page.locator('summary', { hasText: 'video.live_stream.idle' }).click();
  const event = page.getByRole('region', { name: 'event' });
  await event.getByText('"recording": false').waitFor();
  expect(await page.content()).not.toContain(key);
  await expectAccessible(page);
  for (const { process } of publishers) process.kill('SIGKILL');
  await page.getByRole('link', { name: 'Watch the latest recording' }).click();
  await page.waitForURL(`**/console/assets/${assetId}`);
  await page.locator('.page-actions').getByText('Ready', { exact: true }).waitFor();
});

it('settings are changed, targets added and deleted, and the live stream disabled, enabled and deleted', async () => {
  const { page } = app;
  const { id } = await create({
    meta: { title: 'Ferry' },
    passthrough: 'a',
    reconnect_slate_url: 'https://e.com/a.png',
  });
  await app.open(`/live/${id}/settings`, 'Ferry');
  await page.getByLabel('Title', { exact: true }).fill('Morning ferry');
  await page.getByLabel('Latency', { exact: true }).selectOption('standard');
  await page.getByLabel('Passthrough').fill('');
  await page.getByLabel('URL of the slate').fill('not a URL');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').getByText('reconnect_slate_url').waitFor();
  await page.getByLabel('URL of the slate').fill('');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { level: 1, name: 'Morning ferry' }).waitFor();
  const changed = await retrieve(id);
  // The window was not touched, so it follows the latency mode.
  expect(changed).toMatchObject({ meta: { title: 'Morning ferry' }, latency_mode: 'standard', reconnect_window: 60 });
  expect(changed.passthrough).toBeUndefined();
  expect(changed.reconnect_slate_url).toBeUndefined();
  expect(changed.new_asset_settings).toEqual({ playback_policies: ['public'] });

  await page.getByRole('link', { name: 'Simulcast', exact: true }).click();
  await page.getByRole('button', { name: 'Add target' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('URL').fill('https://live.example.com/app');
  await dialog.getByLabel('Stream key').fill('elsewhere');
  await dialog.getByRole('button', { name: 'Add' }).click();
  await dialog.getByRole('alert').waitFor();
  await dialog.getByLabel('URL').fill('rtmps://live.example.com/app');
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Add' }).click();
  const target = page.getByRole('row', { name: /rtmps:\/\/live\.example\.com\/app.*Idle/ });
  await target.waitFor();
  await expectAccessible(page);
  expect(await retrieve(id)).toMatchObject({ simulcast_targets: [{ stream_key: 'elsewhere' }] });
  await target.getByRole('button', { name: 'Delete rtmps://live.example.com/app' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await target.waitFor({ state: 'hidden' });

  await page.getByRole('link', { name: 'Playback', exact: true }).click();
  await page.getByRole('region', { name: 'HLS link', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Add a signed playback ID' }).click();
  await page.getByRole('button', { name: 'Make a signed link' }).waitFor();
  await expectAccessible(page);

  await page.getByRole('button', { name: 'Disable' }).press('Enter');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Disable' }).press('Enter');
  await page.getByText('encoders are refused until you enable it').first().waitFor();
  expect(await retrieve(id)).toMatchObject({ status: 'disabled' });
  await page.getByRole('button', { name: 'Enable' }).press('Enter');
  await page.getByText('Nothing is on air.').waitFor();
  await page.locator('.page-head').getByRole('button', { name: 'Delete' }).press('Enter');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Live streams' }).waitFor();
  await page.getByRole('row', { name: /Morning ferry/ }).waitFor({ state: 'hidden' });
  expect(await retrieve(id)).toBeUndefined();
});

it('says what to change in an encoder whose key frames are too far apart', async () => {
  const { page } = app;
  const { id, stream_key: key } = await create({ meta: { title: 'Long GOP' } });
  await app.open(`/live/${id}`, 'Long GOP');
  const source = ['-f', 'lavfi', '-i', 'testsrc2=size=160x90:rate=10'];
  const encode = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-g', '600', '-sc_threshold', '0'];
  publishers.push(startPublisher(`${ingestUrl}/${key}`, ['-re', ...source, ...encode]));
  await page.getByText('Set its key frame interval to 2 s.').waitFor();
  await expectAccessible(page);
});

it('the keyboard alone creates a live stream, shows its key and resets it', async () => {
  const { page } = app;
  await app.open('/live', 'Live streams');
  await page.getByRole('table', { name: 'Live streams' }).waitFor();
  expect(await unreachable(page)).toEqual([]);
  await tabTo(page, page.getByRole('button', { name: 'Create live stream' }));
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  const title = dialog.getByLabel('Title', { exact: true });
  await title.waitFor();
  if (!(await isFocused(title))) await tabTo(page, title);
  await page.keyboard.type('Typed');
  await tabTo(page, dialog.getByText('More settings'));
  await page.keyboard.press('Space');
  await tabTo(page, dialog.getByLabel('Test: ends after 5 minutes'));
  await page.keyboard.press('Space');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Typed' }).waitFor();
  await expect.poll(() => isFocused(page.getByRole('heading', { level: 1 }))).toBe(true);
  const stream = await retrieve(new URL(page.url()).pathname.split('/').at(-1)!);
  // Recordings are called like the live stream unless told.
  expect(stream).toMatchObject({ test: true, new_asset_settings: { meta: { title: 'Typed' } } });
  await page.getByText('Nothing is on air.').waitFor();
  expect(await unreachable(page)).toEqual([]);
  await tabTo(page, page.getByRole('button', { name: 'Show the key' }));
  await page.keyboard.press('Enter');
  await page.getByText(stream.stream_key, { exact: true }).waitFor();
  const reset = page.getByRole('button', { name: 'Reset the key' });
  await tabTo(page, reset);
  await page.keyboard.press('Enter');
  const question = page.getByRole('alertdialog');
  await question.waitFor();
  await page.keyboard.press('Escape');
  await question.waitFor({ state: 'hidden' });
  await expect.poll(() => isFocused(reset)).toBe(true);
  expect((await retrieve(stream.id)).stream_key).toBe(stream.stream_key);
  await page.keyboard.press('Enter');
  await tabTo(page, question.getByRole('button', { name: 'Reset' }));
  await page.keyboard.press('Enter');
  await page.getByText('The live stream has a new key.').waitFor();
  expect((await retrieve(stream.id)).stream_key).not.toBe(stream.stream_key);
});

it('whoever may only read sees no button that changes something, and no events', async () => {
  const { id } = await create({ meta: { title: 'Read only' } });
  const { request } = app.page;
  const { csrf_token: csrf } = await (await request.get(`${server.url}/console/api/session`)).json();
  const data = { name: 'reader', permissions: ['video:read'] };
  const made = await request.post(`${server.url}/console/api/tokens`, { data, headers: { 'x-csrf-token': csrf } });
  const { page } = await openConsole(browser, { url: server.url, token: await made.json() }, '/live');
  expect(await page.getByRole('button', { name: 'Create live stream' }).count()).toBe(0);
  await page.getByRole('link', { name: 'Read only' }).click();
  await page.getByText('Nothing is on air.').waitFor();
  const parts = page.getByRole('navigation', { name: 'Parts of the live stream' }).getByRole('link');
  expect(await parts.allTextContents()).toEqual([
    ...['Encoder', 'Playback', 'Recordings', 'Simulcast', 'Settings', 'API'],
  ]);
  for (const name of ['Reset the key', 'Disable', 'Delete', 'End the broadcast'])
    expect(await page.getByRole('button', { name, exact: true }).count(), name).toBe(0);
  await page.goto(`${server.url}/console/live/${id}/settings`);
  expect(await page.getByLabel('Title', { exact: true }).getAttribute('readonly')).not.toBeNull();
  expect(await page.getByRole('button', { name: 'Save' }).count()).toBe(0);
  await expectAccessible(page);
});

it('a broadcast is sent from the camera of this computer, and ends with a button', async () => {
  const { page } = app;
  const { id } = await create({ meta: { title: 'Camera' }, reconnect_window: 0 });
  await app.open(`/live/${id}/connect`, 'Camera');
  await page.getByRole('button', { name: 'Camera' }).click();
  await page.getByRole('button', { name: 'Stop sending' }).waitFor();
  const hasStatus = (status: string) => async () => (await retrieve(id)).status === status;
  await until('the live stream is active', hasStatus('active'), 60_000);
  const isShown = (video: HTMLVideoElement): boolean => video.videoWidth > 0 && !video.paused;
  expect(await page.getByLabel('What you send').evaluate(isShown as (element: Element) => boolean)).toBe(true);
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Stop sending' }).click();
  await until('the live stream is idle', hasStatus('idle'), 60_000);
  await page.getByRole('button', { name: 'Camera' }).waitFor();
});
