/** The server is away and comes back: what the console says meanwhile, and how it catches up. */
import { rm } from 'node:fs/promises';
import pg from 'pg';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { migrate } from '#kinora/db/migrate.js';
import { openDatabase } from '#kinora/db/open-database.js';
import { quietLogger } from '../../support/logger.js';
import { useBrowser } from '../../support/players/browser.js';
import { inConsole, openConsole, violationsOf } from '../../support/players/console-page.js';
import { startApi } from '../../support/servers/api.js';
import { boot } from '../../support/servers/boot.js';
import { makeTestDataDir } from '../../support/servers/database.js';
import { hasPostgres, startPostgres } from '../../support/servers/postgres.js';
import { createAsset } from '../../support/wire/create-asset.js';

const browser = useBrowser();
const inputs = [{ url: 'http://127.0.0.1:1/never.mp4' }];
const banner = (page: Page) => page.getByRole('status').getByText("The server can't be reached.");
const markPage = (page: Page): Promise<unknown> => page.evaluate(() => Object.assign(window, { isSamePage: true }));
const isSamePage = (page: Page): Promise<unknown> => page.evaluate('window.isSamePage');

it('a banner says that the server is away; when it is back, the page catches up by itself', async () => {
  const dataDir = await makeTestDataDir();
  let server = await boot({ dataDir });
  const { token } = server;
  const { port } = new URL(server.url);
  try {
    await createAsset(server, { inputs, meta: { title: 'Before' } });
    const { page } = await openConsole(browser, server);
    await page.getByRole('link', { name: 'Before' }).waitFor();
    await markPage(page);
    expect(await banner(page).count()).toBe(0);

    await server.stop();
    await banner(page).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    // What was loaded stays; a screen that was not waits for the server.
    await page.getByRole('link', { name: 'Before' }).waitFor();
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByText('Loading …').waitFor();

    // On another port, so that the change is one that the page has missed.
    server = await boot({ dataDir, token });
    await createAsset(server, { inputs, meta: { title: 'Meanwhile' } });
    await server.stop();
    expect(await banner(page).count()).toBe(1);

    server = await boot({ dataDir, token, options: { PORT: port } });
    await page.getByText('No webhook receives events').waitFor();
    await banner(page).waitFor({ state: 'hidden' });
    await page.getByRole('link', { name: 'Assets', exact: true }).first().click();
    await page.getByRole('link', { name: 'Meanwhile' }).waitFor();
    expect(await isSamePage(page)).toBe(true);

    // Live again, and so after another restart on a screen that stays open.
    await createAsset(server, { inputs, meta: { title: 'Live' } });
    await page.getByRole('link', { name: 'Live' }).waitFor();
    await server.stop();
    await banner(page).waitFor();
    await page.getByRole('button', { name: 'Try now' }).click();
    server = await boot({ dataDir, token });
    await createAsset(server, { inputs, meta: { title: 'After' } });
    await server.stop();
    server = await boot({ dataDir, token, options: { PORT: port } });
    await page.getByRole('link', { name: 'After' }).waitFor();
    await banner(page).waitFor({ state: 'hidden' });
    expect(await isSamePage(page)).toBe(true);
  } finally {
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
});

it('one browser is signed in to two servers of one host at the same time', async () => {
  const [one, other] = await Promise.all([boot(), boot()]);
  try {
    await createAsset(one, { inputs, meta: { title: 'Of the first' } });
    await createAsset(other, { inputs, meta: { title: 'Of the second' } });
    const { page } = await browser.open(inConsole);
    const context = page.context();
    await page.goto(await one.consoleLink());
    await page.getByRole('link', { name: 'Of the first' }).waitFor();
    const second = await context.newPage();
    await second.goto(await other.consoleLink());
    await second.getByRole('link', { name: 'Of the second' }).waitFor();
    expect((await context.cookies()).map(({ name }) => name.replace(/\w{12}$/, 'ID'))).toEqual(
      Array(2).fill('kinora_session_ID'),
    );
    await page.reload();
    await page.getByRole('link', { name: 'Of the first' }).waitFor();
    await second.getByRole('button', { name: 'Sign out' }).click();
    await second.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.reload();
    await page.getByRole('link', { name: 'Of the first' }).waitFor();
  } finally {
    await Promise.all([one.stop(), other.stop()]);
  }
});

it('a screen whose file cannot be loaded leaves the others usable', async () => {
  const server = await boot();
  try {
    const { page } = await openConsole(browser, server);
    await page.route(/\/console\/files\/audience-.*\.js$/, (route) => route.fulfill({ status: 404 }));
    await page.getByRole('link', { name: 'Audience' }).click();
    await page.getByRole('alert').getByText('This screen could not be displayed').waitFor();
    await page.getByRole('link', { name: 'Assets', exact: true }).first().click();
    await page.getByRole('heading', { level: 1, name: 'Assets' }).waitFor();
  } finally {
    await server.stop();
  }
});

describe.skipIf(!hasPostgres())('on PostgreSQL', () => {
  it('changes are not missed while the connection for notifications is lost', async () => {
    const postgres = await startPostgres();
    const url = await postgres.createDatabase('kinora');
    const database = await openDatabase({ url, dataDir: '/nowhere', logger: quietLogger });
    await migrate(database);
    const api = await startApi({ database });
    const outside = new pg.Client({ connectionString: url });
    await outside.connect();
    try {
      const [id, secret] = api.token.split(':') as [string, string];
      const server = { url: api.origin, token: { id, secret } };
      await createAsset(server, { inputs, meta: { title: 'Before' } });
      const { page } = await openConsole(browser, server);
      await page.getByRole('link', { name: 'Before' }).waitFor();
      await markPage(page);
      // Without triggers nothing is announced, as if it happened while nobody listened.
      await outside.query('set session_replication_role = replica');
      await outside.query(`update asset set meta = '{"title": "Meanwhile"}'`);
      const ended = await outside.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen %'",
      );
      expect(ended.rowCount).toBe(1);
      await page.getByRole('link', { name: 'Meanwhile' }).waitFor();
      expect(await banner(page).count()).toBe(0);
      // It listens again.
      await createAsset(server, { inputs, meta: { title: 'After' } });
      await page.getByRole('link', { name: 'After' }).waitFor();
      expect(await isSamePage(page)).toBe(true);
      await page.context().close();
    } finally {
      await outside.end();
      await api.stop();
      await postgres.stop();
    }
  });
});
