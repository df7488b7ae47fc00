// Two builds on one database: this one, and a next one, which is a copy with further migrations.
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cleanEnvironment, cliPath } from '../../support/processes/run-cli.js';
import { copyBuild, type OtherBuild } from '../../support/servers/other-build.js';
import { hasPostgres, startPostgres, type TestPostgres } from '../../support/servers/postgres.js';
import { cleanUpServers, makeDataDir, startServer } from '../../support/servers/server-process.js';
import { api } from '../../support/wire/create-asset.js';

let next: OtherBuild;
let postgres: TestPostgres;
beforeAll(async () => {
  if (hasPostgres()) postgres = await startPostgres();
  next = copyBuild();
});
afterAll(async () => {
  await cleanUpServers();
  await postgres?.stop();
  next?.remove();
});

it.skipIf(!hasPostgres())('runs beside and after a next build until that removes what this one needs', async () => {
  const dataDir = makeDataDir();
  const options = { DATABASE_URL: await postgres.createDatabase('builds') };
  const env = { ...cleanEnvironment(), KINORA_DATA_DIR: dataDir, KINORA_DATABASE_URL: options.DATABASE_URL };
  const migrate = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)(process.execPath, [next.program, 'migrate', ...args], { env })).stdout;
  const addMigration = (name: string, text: string): void => next.write(`db/migrations/${name}`, text);
  const names = readdirSync(join(dirname(dirname(cliPath)), 'db/migrations'));
  const level = names.sort().at(-1)!.slice(0, 4);

  const first = await startServer({ dataDir, options });
  addMigration('9001_expand.sql', `-- needs ${level}\nalter table asset add column added text;`);
  expect(await migrate()).toBe('Applied 9001_expand.sql.\n');
  expect(JSON.parse(await migrate('--json'))).toEqual({ applied: [] });
  const body = { playback_policy: ['public'], cors_origin: '*' };
  expect((await api(first, 'POST', '/video/v1/uploads', { ...body, new_asset_settings: {} })).status).toBe(201);
  await first.kill();

  // Killed and started again on the migrated database, it goes on.
  const again = await startServer({ dataDir, options });
  const uploads = async (server: { url: string; token: typeof again.token }): Promise<number> =>
    ((await (await api(server, 'GET', '/video/v1/uploads')).json()) as { data: unknown[] }).data.length;
  expect(await uploads(again)).toBe(1);
  expect(await again.stop()).toBe(0);

  const newer = await startServer({ dataDir, options, program: next.program });
  expect((await api(newer, 'POST', '/video/v1/uploads', { ...body, new_asset_settings: {} })).status).toBe(201);
  expect(await newer.stop()).toBe(0);

  // Back to the older build, without restoring a backup.
  const back = await startServer({ dataDir, options });
  expect(await uploads(back)).toBe(2);
  expect(await back.stop()).toBe(0);

  addMigration('9002_contract.sql', '-- needs 9001\nalter table upload rename column timeout_seconds to timeout_s;');
  expect(await migrate()).toBe('Applied 9002_contract.sql.\n');
  const refused = await startServer({ dataDir, options }).catch((error: Error) => error.message);
  expect(refused).toContain('the server ended with status 2');
  expect(refused).toContain(`migrations up to ${level}, can't use it: it has 9002_contract.sql, which needs 9001.`);
});
