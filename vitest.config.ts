import { defineConfig } from 'vitest/config';

// Unit tests sit beside the source and are pure. Tests under test/ run the built product (`#kinora/…` is dist/), because
// worker threads and media processes are started from files.
export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    pool: 'forks',
    maxWorkers: 2,
    reporters: ['default'],
  },
});
