#!/usr/bin/env node
// `kinora` in a clone, for `npm start` and `npx kinora`: builds when there is no build or a source
// is newer, then runs the command line in this very process, so that it gets the signals that npm
// passes on. The published package has no sources: its `kinora` is dist/cli/main.js.
import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// As in src/cli/main.ts, which isn't built yet. Only modules of Node.js are imported statically: an
// old version might fail in other ones before this line runs, and the build certainly does.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`kinora: Node.js 20.19 or newer is required; this is ${process.versions.node}.`);
  process.exit(1);
}

const { filesIn, newestMs, pages } = await import('./build-pages.mjs');

const root = fileURLToPath(new URL('..', import.meta.url));
const modifiedMs = (path) => statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;

const sources = ['tsconfig.json', 'tsconfig.src.json', ...['src', ...pages].flatMap(filesIn)];

if (newestMs(sources) > modifiedMs('dist/.built')) {
  if (!existsSync(join(root, 'node_modules/typescript'))) {
    console.error('The packages are missing: run npm ci first.');
    process.exit(1);
  }
  console.error('Building Kinora: about 20 seconds on two cores, only now and after a source changes ...');
  try {
    execFileSync(process.execPath, [join(root, 'scripts/build.mjs'), '--no-check'], { stdio: 'inherit' });
  } catch {
    // The compiler has said why.
    process.exit(1);
  }
}

await import('../dist/cli/main.js');
