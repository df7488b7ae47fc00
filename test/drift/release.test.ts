import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const copy = mkdtempSync(join(tmpdir(), 'kinora-release-'));
afterAll(() => rmSync(copy, { recursive: true }));

const kustomization = 'deploy/kubernetes/base/kustomization.yaml';
const makeCopy = (changelog: string) => {
  mkdirSync(join(copy, dirname(kustomization)), { recursive: true });
  cpSync(kustomization, join(copy, kustomization));
  writeFileSync(join(copy, 'package.json'), '{"version":"7.8.9"}');
  writeFileSync(join(copy, 'CHANGELOG.md'), changelog);
};
const version = () =>
  execFileSync(process.execPath, [join(process.cwd(), 'scripts/version.mjs')], { cwd: copy, stdio: 'pipe' });

describe('npm version', () => {
  it('dates the changelog and sets the tag of the image', () => {
    makeCopy(readFileSync('CHANGELOG.md', 'utf8'));
    version();
    const text = readFileSync(join(copy, 'CHANGELOG.md'), 'utf8');
    expect(text).toMatch(/^## Unreleased\n\n## 7\.8\.9 - \d{4}-\d\d-\d\d\n\n### /m);
    expect(parse(readFileSync(join(copy, kustomization), 'utf8')).images[0].newTag).toBe('7.8.9');
  });

  it('refuses a release without changes', () => {
    makeCopy('# Changelog\n\n## Unreleased\n\n## 1.0.0 - 2026-01-01\n\n### Added\n');
    expect(version).toThrow('nothing is listed');
  });
});

it('publishes from a tag with provenance, and with no secret', () => {
  const { on, jobs } = parse(readFileSync('.github/workflows/release.yml', 'utf8'));
  expect(on).toEqual({ push: { tags: ['v*'] } });
  expect(jobs.publish.permissions).toEqual({ contents: 'read', 'id-token': 'write' });
  const commands = jobs.publish.steps.flatMap(({ run }: { run?: string }) => run ?? []);
  expect(commands.at(-1)).toBe('npm publish --provenance --access public');
  expect(JSON.stringify(jobs)).not.toContain('secrets.');
  const scripts = Object.keys(JSON.parse(readFileSync('package.json', 'utf8')).scripts);
  for (const [, name] of commands.join('\n').matchAll(/npm run (\S+)/g)) expect(scripts).toContain(name);
});

describe('documents', () => {
  const documents = ['.', 'docs', 'docs/decisions', 'examples', 'examples/next-player'].flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(folder, name)),
  );
  /** As GitHub makes them of headings. */
  const anchorsOf = (path: string): Set<string> =>
    new Set(
      [...readFileSync(path, 'utf8').matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) =>
        heading!
          .toLowerCase()
          .replace(/[^\p{L}\p{N} _-]/gu, '')
          .replaceAll(' ', '-'),
      ),
    );

  it.each(documents)('%s links to what exists', (document) => {
    const text = readFileSync(document, 'utf8').replace(/```[\s\S]*?```/g, '');
    const broken = [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target]) => {
      if (/^[a-z]+:/.test(target!)) return [];
      const [path = '', anchor] = target!.split('#');
      const file = path === '' ? document : join(dirname(document), path);
      if (!existsSync(file)) return [target];
      return anchor === undefined || anchorsOf(file).has(anchor) ? [] : [target];
    });
    expect(broken).toEqual([]);
  });

  it('name only files of deploy/ and examples/ that exist', () => {
    for (const document of [
      'README.md',
      ...documents.filter((path) => path.startsWith('docs/') && !path.includes('decisions')),
    ]) {
      const named = readFileSync(document, 'utf8').match(/(?<![\w/.])(deploy|examples)\/[\w./-]*[\w]/g) ?? [];
      expect(
        named.filter((path) => !existsSync(path)),
        relative('.', document),
      ).toEqual([]);
    }
  });
});
