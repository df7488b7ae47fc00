import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { unoptimizedWasm } from './test/support/processes/node-flags.js';
import { SlowestFirst } from './test/support/slowest-first.js';
import SlowestReporter from './test/support/slowest-reporter.js';

// Large models and services that cost money: CONTRIBUTING.md says how to run these.
const needsModel = {
  'test/media/whisper-model.test.ts': 'KINORA_TEST_WHISPER_MODEL',
  'test/media/ai-provider.test.ts': 'KINORA_TEST_AI_URL',
};
const leftOut = Object.entries(needsModel).filter(([, variable]) => process.env[variable] === undefined);
for (const [file, variable] of leftOut) console.error(`LEFT OUT ${file}: set ${variable} to run it with a real model.`);

// These measure the memory and the open files of their process, or replace its functions, its timers or its environment.
const alone = [
  'test/contract/{disk-blob-store,queue,statement-counts}.test.ts',
  'test/security/{hostile-connections,hostile-rtmp,media-process}.test.ts',
  'test/integration/server/{abort-signals,crash-data-dir-lock,database-unavailable,metrics,pool,shutdown}.test.ts',
  'test/integration/server/{idle-memory,pglite-durability,pglite-memory}.test.ts',
  'test/integration/webhooks/webhook-backlog.test.ts',
  'test/acceptance/examples-react.test.ts',
];

// Node.js would read these certificates at each start, 70 ms of CPU time. Only the test that installs from npm needs them.
const { NODE_EXTRA_CA_CERTS: certificates } = process.env;
if (certificates !== undefined) process.env.NPM_CA_CERTS = certificates;
delete process.env.NODE_EXTRA_CA_CERTS;

const product: TestProjectInlineConfiguration['test'] = {
  // Node loads the product itself, as it does for users: through Vite each of its files costs time in each test file.
  server: { deps: { external: [/\/dist\//] } },
  execArgv: [...unoptimizedWasm],
  // Long: conditions are awaited, and other programs may keep the cores busy.
  testTimeout: 600_000,
  hookTimeout: 600_000,
  // The default is one second.
  expect: { poll: { timeout: 120_000 } },
};

export default defineConfig({
  test: {
    pool: 'forks',
    // Two more than the cores of CI: browsers that play, restarts and retries wait for much of their time.
    maxWorkers: 4,
    // Of the tests in one file that run at the same time: they wait between retries.
    maxConcurrency: 11,
    reporters: ['default', new SlowestReporter()],
    sequence: { sequencer: SlowestFirst },
    globalSetup: ['test/support/temp-dir.ts', 'test/support/run-dir.ts'],
    projects: [
      {
        test: {
          // Beside the source, pure, and they start nothing: one process runs many files, a third of the time.
          name: 'unit',
          include: ['src/**/*.test.ts', 'player/**/*.test.ts'],
          isolate: false,
          testTimeout: 60_000,
          expect: { poll: { timeout: 30_000 } },
        },
      },
      {
        test: {
          // They run the built product (`#kinora/…` is dist/), because worker threads and media processes are started from files.
          ...product,
          name: 'product',
          include: alone,
        },
      },
      {
        test: {
          // Each file opens servers and databases of its own and leaves nothing behind, so one process runs many files: it starts
          // and loads the product once, about a second of processor time less for each file.
          ...product,
          name: 'shared',
          include: ['test/**/*.test.ts'],
          // V8 collects a small heap often, which took a sixth of the CPU time of these processes.
          execArgv: [...unoptimizedWasm, '--heap-growing-percent=400'],
          exclude: [...alone, ...leftOut.map(([file]) => file)],
          isolate: false,
        },
      },
    ],
  },
});
