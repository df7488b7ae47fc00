import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cpuLimitOf } from './job-limits.js';
import type { MediaJob } from './protocol.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kinora-limit-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('gives a file ten seconds of CPU time to tell what it is, and its size more for an index', () => {
  const path = join(folder, 'source');
  const limits = (gibibytes: number) => {
    writeFileSync(path, '');
    truncateSync(path, gibibytes * 2 ** 30);
    const limitOf = (kind: string) => cpuLimitOf({ kind, source: { path } } as MediaJob);
    return ['probe', 'index', 'video-segment'].map(limitOf);
  };
  expect(limits(0)).toEqual([10_000, 10_000, undefined]);
  expect(limits(3)).toEqual([10_000, 70_000, undefined]);
});
