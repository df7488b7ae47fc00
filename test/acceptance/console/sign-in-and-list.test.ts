import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createConsoleLink } from '#kinora/domain/access/sessions.js';
import { useBrowser } from '../../support/players/browser.js';
import { expectAccessible, inConsole, openConsole, violationsOf } from '../../support/players/console-page.js';
import { type Api, startApi } from '../../support/servers/api.js';
import { fillAssets } from '../../support/servers/many-assets.js';
import { statementsOf } from '../../support/statements.js';

let api: Api;
let server: { url: string; token: { id: string; secret: string } };

beforeAll(async () => {
  api = await startApi();
  const [id, secret] = api.token.split(':') as [string, string];
  server = { url: api.origin, token: { id, secret } };
  await fillAssets(api.database);
});
afterAll(async () => {
  await api?.stop();
});
const browser = useBrowser(undefined, 'full');

it('signs in with a link, without typing and once; a wrong token says so', async () => {
  const link = `${api.origin}/console/login#${await createConsoleLink(api.database, api.clock)}`;
  const { page } = await browser.open(inConsole);
  await page.goto(link);
  await page.getByRole('table', { name: 'Assets' }).waitFor();
  expect(new URL(page.url()).pathname + new URL(page.url()).hash).toBe('/console/assets');

  const { page: other } = await browser.open(inConsole);
  await other.goto(link);
  await other
    .getByRole('alert')
    .getByText(/used|expired/)
    .waitFor();
  expect(await violationsOf(other)).toEqual([]);
  expect(other.url()).not.toContain('#');
  await other.getByLabel('Token ID').fill(server.token.id);
  await other.getByLabel('Token secret').fill('wrong');
  await other.keyboard.press('Enter');
  await other.getByRole('alert').getByText('The token ID or the secret is wrong').waitFor();

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
});

it('a link replaces the session of this browser; one that was used says so', async () => {
  const link = `${api.origin}/console/login#${await createConsoleLink(api.database, api.clock)}`;
  const { page } = await openConsole(browser, server);
  const sessionCookie = async () => (await page.context().cookies()).map(({ value }) => value);
  const before = await sessionCookie();
  await page.goto(link);
  await page.getByRole('table', { name: 'Assets' }).waitFor();
  expect(new URL(page.url()).hash).toBe('');
  expect(await sessionCookie()).not.toEqual(before);
  await page.goto(link);
  await page
    .getByRole('alert')
    .getByText(/used|expired/)
    .waitFor();
  expect(new URL(page.url()).pathname).toBe('/console/login');
  await page.goto(`${api.origin}/console/`);
  await page.getByRole('table', { name: 'Assets' }).waitFor();
  await page.context().close();
});

it('a webhook with a private address says which option allows it', async () => {
  const { page } = await openConsole(browser, server, '/webhooks');
  await page.getByRole('button', { name: 'Add webhook' }).click();
  await page.getByLabel('Address').fill('http://10.1.2.3/in');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByText('Set KINORA_ALLOW_PRIVATE_SOURCES to allow it.').waitFor();
  await page.context().close();
});

it('takes the links that are opened one after another in the same tab, and a whole token in the field of its ID', async () => {
  const link = async (code: string) => `${api.origin}/console/login#${code}`;
  const { page } = await browser.open(inConsole);
  await page.goto(await link('expired'));
  await page.locator('[role=alert] .notice-error').waitFor();
  await page.locator('.field-hint').getByText('kinora console').waitFor();
  await page.goto(await link(await createConsoleLink(api.database, api.clock)));
  await page.getByRole('table', { name: 'Assets' }).waitFor();

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Token ID').fill(api.token);
  expect(await page.getByLabel('Token ID').inputValue()).toBe(server.token.id);
  expect(await page.getByLabel('Token secret').inputValue()).toBe(server.token.secret);
  // Typed letter by letter, it is split when the field is left.
  await page.getByLabel('Token secret').fill('');
  await page.getByLabel('Token ID').fill('');
  await page.getByLabel('Token ID').pressSequentially(api.token);
  expect(await page.getByLabel('Token ID').inputValue()).toBe(api.token);
  await page.keyboard.press('Tab');
  expect(await page.getByLabel('Token ID').inputValue()).toBe(server.token.id);
  await page.keyboard.press('Enter');
  await page.getByRole('table', { name: 'Assets' }).waitFor();
  await page.context().close();
});

it('loads less than 150 kB, from this server only, under its strict policy', async () => {
  const { page, watched } = await openConsole(browser, server);
  await page.getByRole('table', { name: 'Assets' }).waitFor();
  watched.requested.length = 0;
  const bodies: Promise<Buffer>[] = [];
  page.on('response', (response) => {
    if (!/thumbnail|\/api\//.test(response.url())) bodies.push(response.body().catch(() => Buffer.alloc(0)));
  });
  const reloaded = await page.reload({ waitUntil: 'load' });
  await page.getByRole('table', { name: 'Assets' }).waitFor();
  const bytes = (await Promise.all(bodies)).reduce((sum, body) => sum + gzipSync(body).length, 0);
  expect(bytes).toBeGreaterThan(50_000);
  expect(bytes).toBeLessThan(150_000);
  expect(watched.requested.filter((url) => !url.startsWith(`${server.url}/`))).toEqual([]);
  const policy = reloaded!.headers()['content-security-policy'];
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toContain('unsafe');
});

it('loads the first page of 10,000 assets with one request and few, limited queries', async () => {
  const { page, watched } = await openConsole(browser, server);
  const table = page.getByRole('table', { name: 'Assets' });
  await table.waitFor();
  watched.requested.length = 0;
  const statements = await statementsOf(async () => {
    await page.reload();
    await table.waitFor();
    await page.getByText('10,000 assets').waitFor();
  });
  const paths = watched.requested.map((url) => new URL(url).pathname);
  expect(paths.filter((path) => path === '/console/api/assets')).toHaveLength(1);
  expect(paths.filter((path) => path.startsWith('/video/'))).toEqual([]);
  expect(await table.getByRole('row').count()).toBe(51);
  // As many as for one asset: the page, its total, and the parts of its rows.
  const ofAssets = statements.filter((statement) => /\bfrom "?asset"?\b/.test(statement));
  expect(ofAssets.length).toBeGreaterThan(0);
  expect(ofAssets.length).toBeLessThanOrEqual(2);
  expect(ofAssets.filter((statement) => !/\blimit\b|count\(/.test(statement))).toEqual([]);
  await page.context().close();
});

it('finds assets among 10,000 with the keyboard, by status in one click, and deletes 20 with one confirmation', async () => {
  const { page, watched } = await openConsole(browser, server);
  const table = page.getByRole('table', { name: 'Assets' });
  await table.waitFor();
  expect(await table.getByRole('row').count()).toBe(51);
  await page.getByText('10,000 assets').waitFor();
  await expectAccessible(page);

  await page.keyboard.press('/');
  await page.keyboard.type('title 9998');
  await page.getByText('1 asset', { exact: true }).waitFor();
  await table.getByRole('link', { name: 'Title 9998' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByText('10,000 assets').waitFor();

  await page.getByRole('button', { name: 'Errored' }).click();
  await page.getByText('200 assets').waitFor();
  expect(new URL(page.url()).search).toBe('?status=errored');
  const boxes = table.getByRole('checkbox', { name: /^Select (Title|Untitled)/ });
  for (let row = 0; row < 20; row++) await boxes.nth(row).check();
  await page.getByText('20 assets selected').waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  const question = page.getByRole('alertdialog', { name: 'Delete 20 assets?' });
  await question.waitFor();
  // Esc and the focus belong to the question.
  await page.keyboard.press('Escape');
  await question.waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: 'Delete' }).click();
  expect(await violationsOf(page)).toEqual([]);
  await question.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('180 assets').waitFor();
  expect(watched.problems.filter((problem) => !/thumbnail|Failed to load resource|api\/stream/.test(problem))).toEqual(
    [],
  );
});
