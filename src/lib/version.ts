import { readFileSync } from 'node:fs';

/** The version of this Kinora, from package.json. */
export const kinoraVersion = (): string =>
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
