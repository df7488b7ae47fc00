// Bundles what the server sends to browsers, each from its folder to the place that its
// `vite.config.ts` names. It is bundled again only when one of its sources or the installed
// packages are newer than its bundle.
import { existsSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const modifiedMs = (path) => statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** The folders of the pages, each with a `vite.config.ts`. */
export const pages = ['console', 'player'];

/**
 * Everything in a folder that may change what is built from it. Directories too: they change when a
 * file is removed.
 */
export const filesIn = (folder) => [
  folder,
  ...readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, name)),
];

export const newestMs = (paths) => Math.max(...paths.map(modifiedMs));

export const buildPages = async () => {
  for (const page of pages) {
    const stamp = join(root, 'dist', `.${page}-built`);
    const startedAt = new Date();
    if (existsSync(stamp) && statSync(stamp).mtimeMs >= newestMs([...filesIn(page), 'package-lock.json'])) continue;
    // Loaded only when it is needed: that alone takes as long as the compiler does when nothing has
    // changed.
    const { build } = await import('vite');
    await build({ configFile: join(root, page, 'vite.config.ts') });
    writeFileSync(stamp, '');
    utimesSync(stamp, startedAt, startedAt);
  }
};
