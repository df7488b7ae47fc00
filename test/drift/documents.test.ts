import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { options } from '#kinora/config/options.js';

it('has documents that match options, folders and operations', () => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/generate-docs.mjs', '--check'], {
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  expect(status).toBe(0);
});

it('names only existing options in the hand-written documents', () => {
  const known = new Set<string>(Object.values(options).map(({ variable }) => variable));
  for (const path of [
    'README.md',
    'NOTICE',
    'docs/deploy.md',
    'docs/operating.md',
    'docs/security.md',
    'docs/compatibility.md',
    'docs/architecture.md',
  ]) {
    const named = readFileSync(path, 'utf8').match(/\bKINORA_[A-Z0-9_]+/g) ?? [];
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

it('names the version of the Mux command line that the tests use', () => {
  const [, named] = /^.*MUX_BASE_URL=.* npx @mux\/cli@(\d+)\b/m.exec(readFileSync('README.md', 'utf8')) ?? [];
  const tested: string = JSON.parse(readFileSync('package.json', 'utf8')).devDependencies['@mux/cli'];
  expect(named).toBe(tested.split('.')[0]);
});
