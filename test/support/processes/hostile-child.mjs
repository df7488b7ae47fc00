// A media process whose "sources" are orders: what a hostile file could make FFmpeg do, done for
// real.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { createConnection } from 'node:net';
import { constants, getPriority, networkInterfaces, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { serveJobs } from '#kinora/engine/ipc/serve-jobs.js';
import { KinoraError } from '#kinora/lib/errors.js';

if (process.argv[2] === 'background') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

const spin = (milliseconds) => {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
};

const orders = {
  hello: () => ({ pid: process.pid, nice: getPriority() }),
  crash: () => process.abort(),
  exit: () => process.exit(3),
  hang: () => spin(600_000),
  nonsense: (text) => {
    if (text !== 'endless') writeSync(3, `${text}\n`);
    else {
      for (let written = 0; written < 5 * 2 ** 20; ) {
        try {
          written += writeSync(3, 'x'.repeat(65_536));
        } catch {
          // The channel is full: the server reads on.
        }
      }
    }
    spin(600_000);
  },
  say: (text) => {
    writeSync(3, `${text}\n`);
    spin(300);
    return {};
  },
  // A process of another group that holds the channel.
  leave: () => {
    const left = spawn('/bin/sleep', ['60'], { detached: true, stdio: ['ignore', 'ignore', 'ignore', 3] });
    left.unref();
    return { pid: left.pid };
  },
  spin: (text) => {
    spin(Number(text));
    return { pid: process.pid };
  },
  // Until the file exists, which takes no CPU time.
  wait: async (path) => {
    while (!existsSync(path)) await sleep(10);
    return { pid: process.pid };
  },
  // Parts of the file are missing until the path exists.
  missing: (path) => {
    if (existsSync(path)) return { pid: process.pid, before: Number(readFileSync(path, 'utf8')) };
    writeFileSync(path, String(process.pid));
    throw new KinoraError('range_missing', { details: { missing: [{ start: 0, end: 1 }] } });
  },
  invalid: () => {
    throw new KinoraError('invalid_input', { messages: ['The input file is not a valid video file.'] });
  },
  refuse: () => {
    throw new KinoraError('media_failed');
  },
  defect: () => {
    throw new TypeError('defect');
  },
  memory: () => {
    const kept = [];
    for (let i = 0; i < 64; i += 1) kept.push(Buffer.alloc(64 * 2 ** 20, 1));
    return { kept: kept.length };
  },
  grow: (text) => {
    globalThis.kept = Buffer.alloc(Number(text), 1);
    return { pid: process.pid };
  },
  environment: () => ({ names: Object.keys(process.env), networks: Object.keys(networkInterfaces()) }),
  connect: (port) =>
    new Promise((resolve) => {
      const socket = createConnection({ host: '127.0.0.1', port: Number(port) });
      socket.once('connect', () => resolve({ connected: true }));
      socket.once('error', (error) => resolve({ connected: false, reason: error.code }));
    }),
  read: (path) => {
    try {
      return { text: readFileSync(path, 'utf8') };
    } catch (error) {
      return { reason: error.code };
    }
  },
  write: (path) => {
    try {
      writeFileSync(path, 'x');
      return { written: true };
    } catch (error) {
      return { reason: error.code };
    }
  },
  limits: () => ({
    text: readFileSync('/proc/self/limits', 'utf8'),
    status: readFileSync('/proc/self/status', 'utf8'),
  }),
  once: (path) => {
    if (existsSync(path)) return { secondTry: true };
    writeFileSync(path, 'x');
    process.abort();
  },
};

await serveJobs({
  'video-config': () => ({ avcc: '' }),
  probe: (job, context) => {
    const [, order, argument] = /^([^:]*):?(.*)$/.exec(job.source.path);
    context.progress(0.5);
    return orders[order](argument);
  },
});
process.exit(0);
