// The real media process, except that a file which ends with `hostile:<kind of job>:<deed>` does
// that to it.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { handlers } from '#kinora/engine/handlers.js';
import { serveJobs } from '#kinora/engine/ipc/serve-jobs.js';

if (process.argv[2] === 'background') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

const tailOf = (path) => {
  const file = openSync(path, 'r');
  const tail = Buffer.alloc(64);
  readSync(file, tail, 0, tail.length, Math.max(0, fstatSync(file).size - tail.length));
  closeSync(file);
  return tail.toString('latin1');
};

const deeds = {
  crash: () => process.abort(),
  hang: () => {
    for (;;);
  },
  // Hangs without using CPU time.
  wait: () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0),
  memory: () => {
    const kept = [];
    for (;;) kept.push(Buffer.alloc(64 * 2 ** 20, 1));
  },
};

const guarded = ([kind, handler]) => [
  kind,
  (job, context) => {
    const [, forKind, deed] = /hostile:([a-z-]+):([a-z]+)/.exec(job.source ? tailOf(job.source.path) : '') ?? [];
    if (forKind === kind) deeds[deed]();
    return handler(job, context);
  },
];

await serveJobs(Object.fromEntries(Object.entries(handlers).map(guarded)));
process.exit(0);
