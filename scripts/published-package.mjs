// npm runs this before and after it packs Kinora. Before: leaves in package.json only what the
// published package needs. After (`--restore`): undoes that.
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const published = ['name', 'version', 'description', 'license', 'repository', 'type', 'engines', 'bin', 'files'];

const saved = '.package.source.json';
// Also before packing: a pack that was killed has not undone it.
if (existsSync(saved)) renameSync(saved, 'package.json');
if (!process.argv.includes('--restore')) {
  const code = readdirSync('dist', { recursive: true })
    .filter((name) => /\.c?js$/.test(name))
    .map((name) => readFileSync(join('dist', name), 'utf8'))
    .join('\n');
  // What only builds need is a dependency too, because a clone that was installed without
  // devDependencies builds.
  const imported = new Set(
    [...code.matchAll(/\b(?:from|import|resolve|require)\s*\(?\s*['"]((?:@[\w.-]+\/)?[\w.-]+)/g)].map(
      ([, name]) => name,
    ),
  );
  const source = JSON.parse(readFileSync('package.json', 'utf8'));
  const publishedFields = Object.entries(source).filter(([key]) => published.includes(key));
  const dependencies = Object.entries(source.dependencies).filter(([name]) => imported.has(name));
  // A clone runs scripts/start.mjs, which builds first.
  const bin = { kinora: 'dist/cli/main.js' };
  const contents = { ...Object.fromEntries(publishedFields), bin, dependencies: Object.fromEntries(dependencies) };
  renameSync('package.json', saved);
  writeFileSync('package.json', `${JSON.stringify(contents, undefined, 2)}\n`);
}
