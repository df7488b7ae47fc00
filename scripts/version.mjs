// npm runs this during `npm version`, when package.json has the new version: dates the section
// "Unreleased" of the changelog and sets the version in the files of deploy/ that name it.
import { readFileSync, writeFileSync } from 'node:fs';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));

const change = (path, pattern, replacement, problem) => {
  const text = readFileSync(path, 'utf8');
  if (!pattern.test(text)) throw new Error(`${path}: ${problem}`);
  writeFileSync(path, text.replace(pattern, replacement));
};

const today = new Date().toISOString().slice(0, 10);
change(
  'CHANGELOG.md',
  /^## Unreleased\n+(?=### )/m,
  `## Unreleased\n\n## ${version} - ${today}\n\n`,
  'nothing is listed below "Unreleased".',
);
change(
  'deploy/kubernetes/base/kustomization.yaml',
  /^( *newTag:) .*$/m,
  `$1 ${version}`,
  'the tag of the image is missing.',
);
