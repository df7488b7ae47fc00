import { access, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { boot } from '../../support/servers/boot.js';
import { makeTestDataDir } from '../../support/servers/database.js';
import { type Origin, startOrigin } from '../../support/servers/origin.js';
import { until } from '../../support/servers/server-process.js';
import { movableClock } from '../../support/servers/webhooks.js';
import { api, createAsset } from '../../support/wire/create-asset.js';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** No media is made. */
const options = { MEDIA_PROCESSES: '1' };

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

it('what a killed run published for a deleted asset after its files were removed is removed too', async () => {
  const silent: Origin = await startOrigin(() => undefined);
  cleanUps.push(silent.stop);
  const dataDir = await makeTestDataDir();
  cleanUps.push(() => rm(dataDir, { recursive: true, force: true }));
  const first = await boot({ dataDir, options });
  const { id } = await createAsset(first, { inputs: [{ url: `${silent.url}/never.mp4` }] });
  const directory = join(dataDir, 'blobs', 'assets', id);
  await mkdir(directory, { recursive: true });
  expect((await api(first, 'DELETE', `/video/v1/assets/${id}`)).status).toBe(204);
  await until('its files are removed', async () => !(await exists(directory)));
  await first.stop();

  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'source'), 'late');
  const clock = movableClock();
  const second = await boot({ dataDir, clock, options });
  cleanUps.push(() => second.stop());
  clock.aheadMs += 11 * 60_000;
  await until('nothing is left', async () => !(await exists(directory)));
});
