import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { useBrowser } from '../../support/players/browser.js';
import { expectAccessible, openAsAdministrator } from '../../support/players/console-page.js';
import { boot } from '../../support/servers/boot.js';
import { fillDataDir } from '../../support/servers/database.js';

const MIB = 2 ** 20;
const dir = mkdtempSync(join(tmpdir(), 'kinora-low-disk-'));
/** Only root may mount a disk of known size. */
const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1200m', 'tmpfs', dir]).status === 0;
afterAll(() => {
  if (isMounted) execFileSync('umount', [dir]);
  rmdirSync(dir);
});
const browser = useBrowser();

it.runIf(isMounted)('operations warn when the disk is almost full, and no longer when there is room', async () => {
  const dataDir = join(dir, 'data');
  await fillDataDir(dataDir);
  const server = await boot({ dataDir });
  const app = await openAsAdministrator(browser, server);
  const warning = app.page.getByRole('alert').getByText('The disk is almost full');
  const filler = join(dir, 'filler');
  try {
    await app.open('/operations', 'Operations');
    await app.page.getByText('Free disk space').waitFor();
    expect(await warning.count()).toBe(0);
    const { bavail, bsize } = statfsSync(dir);
    writeFileSync(filler, Buffer.alloc(bavail * bsize - 900 * MIB));
    // Without a reload: the server tells administrators to look again every few seconds.
    await warning.waitFor();
    await expectAccessible(app.page);
    rmSync(filler);
    await warning.waitFor({ state: 'hidden' });
  } finally {
    await app.page.context().close();
    await server.stop();
    rmSync(filler, { force: true });
  }
});
