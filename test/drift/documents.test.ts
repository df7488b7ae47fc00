import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { options } from '#kinora/config/options.js';

/** Paths from the root of the repository. Decisions keep the names of their time. */
const documents = [
  ...readdirSync('.').filter((name) => name.endsWith('.md')),
  'test/README.md',
  ...readdirSync('docs', { recursive: true })
    .map((name) => join('docs', String(name)))
    .filter((path) => path.endsWith('.md') && !path.startsWith('docs/decisions/')),
];

it('has documents that match options, folders and operations', () => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/generate-docs.mjs', '--check'], {
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  expect(status).toBe(0);
});

it('names only existing options in the hand-written documents', () => {
  const known = new Set<string>(Object.values(options).map(({ variable }) => variable));
  for (const path of [...documents, 'NOTICE']) {
    const named = readFileSync(path, 'utf8').match(/\bKINORA_(?!TEST_)[A-Z0-9_]+/g) ?? [];
    expect(
      named.filter((name) => !known.has(name)),
      path,
    ).toEqual([]);
  }
});

it('has every command of package.json that the README names', () => {
  const scripts = Object.keys(JSON.parse(readFileSync('package.json', 'utf8')).scripts);
  const named = [...readFileSync('README.md', 'utf8').matchAll(/\bnpm (?:run )?(check|test|bench|start|build)\b/g)].map(
    (match) => match[1],
  );
  expect(named).not.toHaveLength(0);
  expect(scripts).toEqual(expect.arrayContaining(named));
});

it('has a README that is read to its end', () => {
  expect(readFileSync('README.md', 'utf8').split('\n').length).toBeLessThanOrEqual(161);
});

it('names the version of the Mux command line that the tests use', () => {
  const [, named] = /^.*MUX_BASE_URL=.* npx @mux\/cli@(\d+)\b/m.exec(readFileSync('README.md', 'utf8')) ?? [];
  const tested: string = JSON.parse(readFileSync('package.json', 'utf8')).devDependencies['@mux/cli'];
  expect(named).toBe(tested.split('.')[0]);
});

/** The anchors of a Markdown file, as GitHub makes them. */
const anchorsOf = (path: string): string[] =>
  [...readFileSync(path, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

it('has documents whose links lead to a file and a heading', () => {
  const decisions = readdirSync('docs/decisions').map((name) => `docs/decisions/${name}`);
  const dead: string[] = [];
  for (const path of [...documents, ...decisions]) {
    for (const [, link] of readFileSync(path, 'utf8').matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^(https?|mailto|mux):/.test(link!)) continue;
      const [file, anchor] = link!.split('#') as [string, string?];
      const target = file === '' ? path : join(path, '..', file);
      if (!existsSync(target) || (anchor !== undefined && !anchorsOf(target).includes(anchor)))
        dead.push(`${path}: ${link}`);
    }
  }
  expect(dead).toEqual([]);
});
