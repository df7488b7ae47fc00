import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { GENERATION } from './generation.js';

test('the generation belongs to one encoder build', () => {
  const { dependencies } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  // Another build may produce other bytes and other parameter sets: raise the generation together
  // with the version.
  expect([GENERATION, dependencies['node-av']]).toEqual([4, '6.1.1']);
});
