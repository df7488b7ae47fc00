// A server with a busy media process, to be killed. Prints the pool's directory when the process
// works.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#kinora/lib/clock.js';
import { MediaPool } from '#kinora/pool/media-pool.js';

const root = mkdtempSync(join(tmpdir(), 'kinora-victim-'));
const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };
try {
  const pool = await MediaPool.start({
    size: 1,
    readDirs: [join(root, 'sources')],
    writeDir: join(root, 'scratch'),
    memoryBytes: 512 * 2 ** 20,
    logger: quiet,
    clock: systemClock,
    levels: [process.argv[2]],
    entryUrl: new URL('./hostile-child.mjs', import.meta.url),
  });
  // Level "none" has nobody to tell a process inside a native call that the server is gone: it ends
  // when the call does.
  const job = {
    kind: 'probe',
    source: { path: process.argv[2] === 'none' ? 'spin:1500' : 'hang' },
    maxPixels: 1,
    maxStreams: 1,
  };
  pool.run(job, { priority: 0, onProgress: () => console.log(root) }).catch(() => undefined);
} catch {
  console.log('unavailable');
}
