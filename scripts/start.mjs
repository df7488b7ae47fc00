// `npm start`: builds when there is no build or a source is newer, then runs the command line in this very process, so that
// it gets the signals that npm passes on.
import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { filesIn, newestMs, pages } from './build-pages.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const modifiedMs = (path) => statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;

const sources = ['tsconfig.json', 'tsconfig.src.json', ...['src', ...pages].flatMap(filesIn)];

if (newestMs(sources) > modifiedMs('dist/.built')) {
  if (!existsSync(join(root, 'node_modules/typescript'))) {
    console.error('The packages are missing: run npm ci first.');
    process.exit(1);
  }
  console.error('Building Kinora (once, and again after a source changes) ...');
  try {
    execFileSync(process.execPath, [join(root, 'scripts/build.mjs'), '--no-check'], { stdio: 'inherit' });
  } catch {
    // The compiler has said why.
    process.exit(1);
  }
}

await import('../dist/cli/main.js');
