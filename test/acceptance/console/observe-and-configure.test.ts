import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { useBrowser } from '../../support/players/browser.js';
import { type AdministratorPage, expectAccessible, openAsAdministrator } from '../../support/players/console-page.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { type Origin, startOrigin } from '../../support/servers/origin.js';
import { until } from '../../support/servers/server-process.js';
import { type Receiver, startReceiver } from '../../support/servers/webhook-receiver.js';
import { api, createAsset, serveFiles, settled, type WireAsset } from '../../support/wire/create-asset.js';

let server: Booted;
let origin: Origin;
let receiver: Receiver;
let app: AdministratorPage;
let asset: WireAsset;
let failing = true;
beforeAll(async () => {
  origin = await serveFiles([await fixture('h264-aac.mp4')]);
  receiver = await startReceiver((_, response) => {
    response.statusCode = failing ? 500 : 200;
    response.end(failing ? 'The database is away.' : 'Thank you.');
  });
  server = await boot();
  const inputs = [{ url: `${origin.url}/0` }];
  const created = await createAsset(server, { inputs, playback_policies: ['public'], meta: { title: 'Waves' } });
  asset = await settled(server, created.id);
  app = await openAsAdministrator(browser, server);
});
afterAll(async () => {
  await server?.stop();
  await receiver?.stop();
  await origin?.stop();
});
const browser = useBrowser();

const listed = async <T>(path: string): Promise<T[]> => (await (await api(server, 'GET', path)).json()).data;

it('a webhook is added, its failed delivery shows status and body, and it is sent again', async () => {
  const { page } = app;
  await app.open('/webhooks', 'Webhooks');
  await page.getByText('No webhook receives events').waitFor();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Add webhook' }).click();
  await page.getByLabel('Address').fill(`${receiver.url}/events`);
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  const secret = page.getByRole('region', { name: 'signing secret' });
  await secret.waitFor();
  expect((await secret.textContent())!.length).toBeGreaterThan(20);
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('link', { name: `${receiver.url}/events` }).click();

  await page.getByRole('button', { name: 'Send test event' }).click();
  await page.getByText('Test event: status 500.').waitFor();
  const entry = page.locator('details', { hasText: 'kinora.webhook.test' });
  await entry.locator('summary').click();
  await entry.getByText('The database is away.').waitFor();
  expect(await entry.locator('summary').textContent()).toMatch(/Failed.*status 500/);
  await expectAccessible(page);

  failing = false;
  await entry.getByRole('button', { name: 'Send again' }).click();
  await page.locator('summary', { hasText: 'Succeeded' }).waitFor();
  expect(receiver.at('/events').map(({ event }) => event.type)).toEqual(['kinora.webhook.test', 'kinora.webhook.test']);

  await page.getByRole('button', { name: 'Disable' }).click();
  await page.getByRole('button', { name: 'Enable' }).waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No webhook receives events').waitFor();
});

it('events are found by their type', async () => {
  const { page } = app;
  await app.open('/events', 'Events');
  await page.locator('summary', { hasText: 'video.asset.ready' }).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('video.asset.created');
  await until('only that one is listed', async () => (await page.locator('summary').count()) === 1);
  expect(await page.locator('summary').textContent()).toMatch(/Waves/);
  await page.locator('summary').click();
  const text = await page.getByRole('region', { name: 'event' }).textContent();
  expect(JSON.parse(text!)).toMatchObject({ type: 'video.asset.created', object: { id: asset.id } });
  await expectAccessible(page);
  await page.getByRole('searchbox').fill('nothing.of.this');
  await page.getByText('No event matches').waitFor();
});

interface Usage {
  delivered_seconds: number;
  delivered_seconds_by_resolution: Record<string, number>;
}

it('the usage is that of the API, as charts and as CSV', async () => {
  const { page } = app;
  await app.open('/audience/delivery', 'Audience');
  await page.getByText('Nothing was watched').waitFor();
  const address = `${server.url}/${asset.playback_ids![0]!.id}.m3u8`;
  const variant = new URL(/^[^#].*playlist\.m3u8.*$/m.exec(await (await fetch(address)).text())![0], address);
  const segment = new URL(/^0\.m4s.*$/m.exec(await (await fetch(variant)).text())![0], variant);
  await (await fetch(segment)).arrayBuffer();
  const now = Math.floor(Date.now() / 1000);
  const path = `/video/v1/delivery-usage?timeframe[]=${now - 3600}&timeframe[]=${now + 60}`;
  await until('the usage is counted', async () => (await listed(path)).length === 1);
  const { delivered_seconds: seconds, delivered_seconds_by_resolution: tiers } = (await listed<Usage>(path))[0]!;
  await page.reload();
  await page.getByRole('link', { name: 'Waves' }).waitFor();
  const time = `0:${String(Math.round(seconds)).padStart(2, '0')}`;
  expect(await page.locator('.usage-total').textContent()).toMatch(new RegExp(`^${time} of 1 asset,`));
  const bars = await page.locator('.bar').allTextContents();
  expect(bars.sort()).toEqual(
    Object.entries(tiers)
      .map(
        ([tier, ofTier]) =>
          `${tier.replace('tier_', '').replace('_', ' ')}0:${String(Math.round(ofTier)).padStart(2, '0')}`,
      )
      .sort(),
  );
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ]);
  const lines = (await readFile(await download.path(), 'utf8')).split('\r\n');
  const names = Object.keys(tiers).sort();
  const quoted = (cells: readonly unknown[]): string => cells.map((cell) => `"${cell}"`).join(',');
  expect(lines).toEqual([
    quoted(['asset_id', 'asset_state', 'passthrough', 'delivered_seconds', ...names]),
    quoted([asset.id, 'ready', '', seconds, ...names.map((name) => tiers[name])]),
    '',
  ]);
  await expectAccessible(page);
});

it('a budget shows what was delivered, is raised and deleted', async () => {
  const { page } = app;
  const dialog = page.getByRole('dialog');
  await app.open('/audience/delivery', 'Audience');
  await page.getByRole('button', { name: 'Add budget' }).click();
  await dialog.getByLabel('Amount').fill('0');
  await dialog.getByLabel('When it is spent').selectOption('stop');
  await dialog.getByRole('button', { name: 'Add' }).click();
  await dialog.getByRole('alert').getByText('bytes must be between 1').waitFor();
  await dialog.getByLabel('Amount').fill('0.000001');
  await dialog.getByRole('button', { name: 'Add' }).click();
  const row = page.getByRole('row', { name: /a month.*Stop playback/ });
  await row.waitFor();
  expect(await row.textContent()).toMatch(/\(\d{3,} %\)/);
  await expectAccessible(page);
  const address = `${server.url}/${asset.playback_ids![0]!.id}.m3u8`;
  await until('playback stops', async () => (await fetch(address)).status === 403);
  await page.goto(address.replace('.m3u8', ''));
  await page.getByText('as much of it was watched as its owner allows').waitFor();

  await app.open('/audience/delivery', 'Audience');
  await page.getByRole('button', { name: 'Change budget' }).click();
  await dialog.getByLabel('Amount').fill('500');
  await dialog.getByRole('button', { name: 'Change' }).click();
  await page.getByRole('row', { name: /500 GB a month.*\(0 %\)/ }).waitFor();
  await until('playback goes on', async () => (await fetch(address)).status === 200);
  const [budget] = await listed<{ id: string }>('/video/v1/delivery-budgets');
  await page.getByRole('button', { name: `Delete ${budget!.id}` }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('A budget limits how much of everything').waitFor();
  await page.goto(`${server.url}/console/assets/${asset.id}/playback`);
  await page.getByText('A budget limits how much of this asset').waitFor();
});

it('keys, restrictions, vocabularies and directives are made and deleted', async () => {
  const { page } = app;
  const dialog = page.getByRole('dialog');
  await app.open('/playback', 'Playback access');
  await page.getByRole('button', { name: 'Create signing key' }).click();
  await dialog.getByRole('button', { name: 'Create' }).click();
  const key = await page.getByRole('region', { name: 'private key' }).textContent();
  expect(Buffer.from(key!, 'base64').toString()).toContain('PRIVATE KEY');
  await dialog.getByRole('button', { name: 'Done' }).click();
  const [made] = await listed<{ id: string }>('/system/v1/signing-keys');
  await page.getByRole('button', { name: `Delete ${made!.id}` }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('A signing key signs').waitFor();
  expect(await listed('/system/v1/signing-keys')).toEqual([]);

  await page.getByRole('button', { name: 'Add restriction' }).click();
  await dialog.getByLabel('Allowed domains').fill('not_a_domain!');
  await dialog.getByRole('button', { name: 'Add' }).click();
  await dialog.getByRole('alert').waitFor();
  await dialog.getByLabel('Allowed domains').fill('example.com\n*.example.org');
  await dialog.getByRole('button', { name: 'Add' }).click();
  await page.getByRole('cell', { name: 'example.com, *.example.org' }).waitFor();
  await expectAccessible(page);
  const [restriction] = await listed<{ id: string }>('/video/v1/playback-restrictions');
  await page.getByLabel('Who may play them').selectOption(restriction!.id);
  const address = `${server.url}/${asset.playback_ids![0]!.id}.m3u8`;
  await until('others are refused', async () => (await fetch(address)).status === 403);
  await page.reload();
  await until(
    'it is selected',
    async () => (await page.getByLabel('Who may play them').inputValue()) === restriction!.id,
  );
  await page.getByLabel('Who may play them').selectOption('');
  await until('everyone plays', async () => (await fetch(address)).status === 200);

  await app.open('/directives', 'Vocabularies and directives');
  await page.getByRole('button', { name: 'Add vocabulary' }).click();
  await dialog.getByLabel('Name').fill('Names');
  await dialog.getByLabel('Phrases').fill('Kinora\nplayback ID');
  await dialog.getByRole('button', { name: 'Add' }).click();
  await page.getByText('Kinora, playback ID').waitFor();
  await page.getByRole('button', { name: 'Add directive' }).click();
  await dialog.getByRole('button', { name: 'Add' }).click();
  await page.getByRole('cell', { name: 'generate-chapters' }).waitFor();
  await expectAccessible(page);
});

it('a DRM configuration is added with keys that are not displayed again, and deleted', async () => {
  const { page } = app;
  const dialog = page.getByRole('dialog');
  await app.open('/playback', 'Playback access');
  await page.getByRole('button', { name: 'Add DRM configuration' }).click();
  await dialog.getByLabel('Name').fill('Films');
  await dialog.getByLabel('Keys', { exact: true }).selectOption('static');
  await dialog.getByLabel('Key', { exact: true }).fill('0a0a:5e5e');
  await dialog.getByText('License servers', { exact: true }).click();
  await dialog.getByLabel('Widevine URL').fill('https://license.example.org/wv');
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Add' }).click();
  await dialog.getByRole('alert').getByText('key must be <key id>:<key>').waitFor();
  await dialog.getByLabel('Key', { exact: true }).fill(`${'0a'.repeat(16)}:${'5e'.repeat(16)}`);
  await dialog.getByRole('button', { name: 'Add' }).click();
  await page.getByRole('row', { name: /Films.*static.*Widevine/ }).waitFor();
  await expectAccessible(page);
  const [made] = await listed<{ id: string }>('/video/v1/drm-configurations');
  await page.reload();
  await page.getByRole('row', { name: /Films/ }).waitFor();
  expect(await page.content()).not.toContain('5e5e');
  await page.getByRole('button', { name: `Delete ${made!.id}` }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('A DRM configuration says').waitFor();
  expect(await listed('/video/v1/drm-configurations')).toEqual([]);
});

it('a token is made while the server runs, shown once, used, and revoked', async () => {
  const { page } = app;
  const dialog = page.getByRole('dialog');
  await app.open('/access', 'Tokens and environments');
  await page.getByRole('button', { name: 'Create token' }).click();
  await dialog.getByLabel('Name').fill('website');
  await dialog.getByLabel('Expires').selectOption('30');
  // Only what programs usually need is chosen, and each says what it allows.
  const checked = dialog.getByRole('checkbox', { checked: true });
  expect(await checked.evaluateAll((all) => all.map((one) => (one as HTMLInputElement).value))).toEqual([
    'video:read',
    'video:write',
  ]);
  await dialog.getByRole('checkbox', { name: 'video:write Create, change and delete assets' }).uncheck();
  await dialog.getByRole('button', { name: 'Create' }).click();
  const token = (await page.getByRole('region', { name: 'access token' }).textContent())!;
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('button', { name: 'Copy access token' }).click();
  await until('it is copied', async () => (await page.evaluate(() => navigator.clipboard.readText())) === token);
  await dialog.getByRole('button', { name: 'Done' }).click();
  await dialog.waitFor({ state: 'hidden' });
  await page.reload();
  await page.getByRole('row', { name: /website/ }).waitFor();
  expect(await page.content()).not.toContain(token.split(':')[1]);
  const call = (method: string, path: string) =>
    fetch(`${server.url}${path}`, { method, headers: { authorization: `Basic ${btoa(token)}` } });
  expect((await call('GET', `/video/v1/assets/${asset.id}`)).status).toBe(200);
  expect((await call('DELETE', `/video/v1/assets/${asset.id}`)).status).toBe(403);
  await page.getByRole('button', { name: `Revoke ${token.split(':')[0]}` }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click();
  await page
    .getByRole('row', { name: /website/ })
    .getByText('Revoked')
    .waitFor();
  // Tokens are remembered for a moment.
  await until('it is refused', async () => (await call('GET', `/video/v1/assets/${asset.id}`)).status === 401);
});

it('an environment is added with a default quality, which the keyboard changes', async () => {
  const { page } = app;
  const dialog = page.getByRole('dialog');
  const defaultQuality = async (): Promise<string | undefined> => {
    const { data } = await (await page.request.get(`${server.url}/console/api/environments`)).json();
    return data.find(({ name }: { name: string }) => name === 'Staging')?.default_video_quality;
  };
  await app.open('/access', 'Tokens and environments');
  await page.getByRole('button', { name: 'Add environment' }).click();
  await dialog.getByLabel('Name').fill('Staging');
  await dialog.getByLabel('Default quality').selectOption('plus');
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Add' }).click();
  await page.getByRole('row', { name: /Staging.*Plus/ }).waitFor();
  await expectAccessible(page);
  expect(await defaultQuality()).toBe('plus');

  await page.getByRole('button', { name: 'Change default quality of Staging' }).press('Enter');
  await dialog.getByLabel('Default quality').press('ArrowDown');
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Save' }).press('Enter');
  await page.getByRole('row', { name: /Staging.*Premium/ }).waitFor();
  expect(await defaultQuality()).toBe('premium');
});

it('the job of a slow asset is two clicks away from the list', async () => {
  const { page } = app;
  const slow = await startOrigin(() => undefined);
  try {
    const { id } = await createAsset(server, { inputs: [{ url: `${slow.url}/slow.mp4` }], meta: { title: 'Slow' } });
    await until('it is being fetched', () => slow.requests.length > 0);
    await app.open('/assets', 'Assets');
    await page.getByRole('link', { name: 'Slow' }).click();
    await page.getByRole('link', { name: 'Jobs of this asset' }).click();
    await page.getByRole('row', { name: /Prepare an asset.*Slow.*Running/ }).waitFor();
    expect(await page.getByRole('table', { name: 'Jobs' }).getByRole('link').allTextContents()).toEqual(['Slow']);
    expect((await api(server, 'DELETE', `/video/v1/assets/${id}`)).status).toBe(204);
  } finally {
    await slow.stop();
  }
});

it('operations show the jobs of an asset, checks and figures of the server', async () => {
  const { page } = app;
  await app.open('/operations', 'Operations');
  await page.getByRole('searchbox').fill(asset.id);
  await page.getByRole('row', { name: /Prepare an asset.*Waves.*Done/ }).waitFor();
  const sections = ['Checks', 'Jobs', 'Server'];
  const headings = () => page.getByRole('heading', { level: 2 }).allTextContents();
  await expect.poll(async () => (await headings()).filter((text) => sections.includes(text))).toEqual(sections);
  await page.getByText('Background jobs').waitFor();
  await page.getByText(server.dataDir).waitFor();
  await expectAccessible(page);

  expect((await api(server, 'DELETE', `/video/v1/assets/${asset.id}`)).status).toBe(204);
  const deleted = `Deleted asset ${asset.id.slice(0, 8)}`;
  await app.open(`/operations?asset=${asset.id}`, 'Operations');
  await page.getByRole('row', { name: new RegExp(`Prepare an asset.*${deleted}`) }).waitFor();
  await app.open('/audience/delivery', 'Audience');
  await page.getByRole('row', { name: deleted }).waitFor();
  expect(await page.getByRole('link', { name: deleted }).count()).toBe(0);
});

it('an upload that arrived in time leaves no job that looks cancelled', async () => {
  const { page } = app;
  const settings = { new_asset_settings: { playback_policies: ['public'] }, cors_origin: '*' };
  const { data } = await (await api(server, 'POST', '/video/v1/uploads', settings)).json();
  await fetch(data.url, { method: 'PUT', body: await readFile(await fixture('h264-aac.mp4')) });
  await app.open('/operations', 'Operations');
  await page.getByRole('row', { name: /Time out an upload.*Not needed any more/ }).waitFor();
  expect(await page.getByText('0 of 5').count()).toBe(0);
});

it('no other host was asked, and the policy of the page refused nothing', () => {
  const { requested, problems } = app.watched;
  expect(requested.filter((url) => !url.startsWith(server.url))).toEqual([]);
  expect(problems.filter((line) => /Content Security Policy|Uncaught/.test(line))).toEqual([]);
});
