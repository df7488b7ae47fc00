import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { seedDataDir, seedViews, viewAt } from '../../support/audience-views.js';
import { runCli } from '../../support/processes/run-cli.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { makeTestDataDir } from '../../support/servers/database.js';

const HOUR = 3_600_000;
const ASSET_ID = 'W'.repeat(40);
let dataDir: string;
let server: Booted;
let nowMs: number;

beforeAll(async () => {
  dataDir = await makeTestDataDir();
  // It makes the environment.
  await (await boot({ dataDir })).stop();
  nowMs = Date.now();
  await seedDataDir(dataDir, (database, environmentId) =>
    seedViews(database, environmentId, [
      viewAt(nowMs - 90 * 60_000, 'recent', { assetId: ASSET_ID, watchMs: HOUR, rebufferMs: 18_000 }),
      viewAt(nowMs - 60_000, 'on', { isEnded: false, seenMs: nowMs + HOUR }),
      viewAt(nowMs - 60_000, 'failed', { isFailed: true, startupMs: null, watchMs: 0 }),
      viewAt(nowMs - 50 * HOUR, 'old', { assetId: ASSET_ID, watchMs: HOUR }),
    ]),
  );
  server = await boot({ dataDir });
});
afterAll(async () => {
  await server?.stop();
  await rm(dataDir, { recursive: true, force: true });
});

const stats = (...args: string[]) => runCli(['stats', ...args], { KINORA_DATA_DIR: dataDir });

it('has the views since a duration or a time', async () => {
  const { stdout, stderr } = await stats('--since', '3h', '--json');
  expect(stderr).toBe('');
  const { audience } = JSON.parse(stdout);
  expect(audience).toMatchObject({ views: 3, viewers_now: 1, watch_time_ms: HOUR + 60_000, playback_failures: 1 });
  expect(audience.startup_time_p95_ms).toBeGreaterThan(485);
  expect(audience.startup_time_p95_ms).toBeLessThan(515);
  expect(audience.top_assets).toEqual([{ id: ASSET_ID, title: null, views: 1 }]);
  expect(Date.parse(audience.since)).toBe(Math.floor((nowMs - 3 * HOUR) / HOUR) * HOUR);

  const day = new Date(nowMs - 60 * HOUR).toISOString().slice(0, 10);
  const text = (await stats('--since', day)).stdout;
  expect(text).toMatch(/^views +4 since \d{4}-\d\d-\d\dT00:00:00\.000Z, 1 with a failure$/m);
  expect(text).toMatch(/^viewers +1 now, at most 2 in the last 24 hours$/m);
  expect(text).toMatch(/^watch time +2\.02 h$/m);
  expect(text).toMatch(/^startup time +median \d{3} ms, 95 % within \d{3} ms$/m);
  expect(text).toMatch(/^rebuffering +0\.25 % of the watch time$/m);
  expect(text).toMatch(new RegExp(`^top assets +${ASSET_ID} \\(2\\)$`, 'm'));
});

it('begins with today', async () => {
  const { audience } = JSON.parse((await stats('--json')).stdout);
  expect(audience.since).toMatch(/T00:00:00\.000Z$/);
  expect(Date.now() - Date.parse(audience.since)).toBeLessThan(24 * HOUR);
});

it.each(['tomorrow', '2999-01-01', '-1h', ''])('rejects %j', async (since) => {
  const { status, stderr } = await stats(`--since=${since}`);
  expect(status).toBe(2);
  expect(stderr).toContain('--since must be a time in the past');
});
