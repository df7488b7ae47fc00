import { open, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * What a power failure leaves of the unfinished files below `blobDir`: zeros in place of every byte
 * that was never synced, and a machine that has been started since.
 */
export const losePower = async (blobDir: string): Promise<void> => {
  const dir = join(blobDir, '.partial');
  const names = await readdir(dir);
  for (const name of names.filter((each) => !each.endsWith('+synced'))) {
    const record = join(dir, `${name}+synced`);
    // A store that keeps no record never synced anything.
    const [, syncedBytes] = names.includes(`${name}+synced`) ? (await readFile(record, 'latin1')).split(' ') : [];
    const file = await open(join(dir, name), 'r+');
    const { size } = await file.stat();
    await file.truncate(Number(syncedBytes ?? 0));
    await file.truncate(size);
    await file.close();
    if (syncedBytes !== undefined) await writeFile(record, `00000000-0000-4000-8000-000000000000 ${syncedBytes}`);
  }
};
