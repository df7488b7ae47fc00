import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/options.js';

/** The first start leaves its token here, so that the command line works on the same machine without further setup. */
export const localTokenPath = (dataDir: string): string => join(dataDir, 'token');

/** `token` is `id:secret`; only the owner may read the file. */
export const writeLocalToken = async (dataDir: string, token: string): Promise<void> => {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await writeFile(localTokenPath(dataDir), `${token}\n`, { mode: 0o600 });
};

/** `KINORA_TOKEN`, else the token that the first start left; undefined when there is neither. */
export const findToken = async (config: Config): Promise<string | undefined> => {
  if (config.token !== undefined) return config.token;
  try {
    return (await readFile(localTokenPath(config.dataDir), 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};
