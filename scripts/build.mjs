// Compiles src/ to dist/, copies what is not TypeScript (SQL migrations, the weights of speech
// detection) beside it and bundles the server and the pages. `--no-check` compiles without looking
// at types: faster, and possible where the development packages, which hold types, are not
// installed.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPages } from './build-pages.mjs';
import { bundleServer } from './bundle-server.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const source = join(root, 'src');
const target = join(root, 'dist');
const copied = /\.(sql|html|css|svg|js|onnx|LICENSE)$/;

const startedAt = new Date();
if (process.argv.includes('--clean')) rmSync(target, { recursive: true, force: true });
const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
const noCheck = '--noCheck --types null --composite false --incremental false --declaration false'.split(' ');
try {
  const flags = process.argv.includes('--no-check') ? noCheck : [];
  execFileSync(process.execPath, [compiler, '-p', join(root, 'tsconfig.src.json'), ...flags], { stdio: 'inherit' });
} catch {
  process.exitCode = 1;
}
for (const entry of readdirSync(source, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !copied.test(entry.name)) continue;
  const from = join(entry.parentPath, entry.name);
  const to = join(target, relative(source, from));
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
}
await bundleServer();
await buildPages();
// When it is newer than every source, `npm start` has nothing to build.
if (process.exitCode === undefined) {
  writeFileSync(join(target, '.built'), '');
  utimesSync(join(target, '.built'), startedAt, startedAt);
}
