import fs from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { NodeFS } from '@electric-sql/pglite/nodefs';

/** What the thread is started with: a directory to open (made by `initdb` when it is empty). */
export interface PgliteWorkerData {
  readonly directory: string;
}

/** To the thread: a batch of protocol messages, or the order to close. */
export type PgliteRequest = { readonly id: number; readonly bytes: Uint8Array } | { readonly close: true };
/** From the thread: ready for requests, the answer to one of them, or closed. */
export type PgliteResponse =
  | { readonly ready: true }
  | { readonly id: number; readonly bytes: Uint8Array }
  | { readonly closed: true };

interface EmscriptenModule {
  NODEFS: {
    stream_ops: { fsync?: (stream: { nfd: number }) => number };
    node_ops: { setattr: (node: unknown, change: { mode?: number }) => void };
  };
}

/**
 * PGlite's file system never calls fsync (Emscripten's answers success without doing anything), so a power cut could take
 * acknowledged commits with it. This one does. And it gives files the modes that the engine asks for, 0666 for most, whatever
 * the umask says: here they are for their owner alone.
 */
class DurableNodeFS extends NodeFS {
  override async init(...args: Parameters<NodeFS['init']>): ReturnType<NodeFS['init']> {
    const result = await super.init(...args);
    const patch = (module: unknown): void => {
      const { stream_ops, node_ops } = (module as EmscriptenModule).NODEFS;
      const { setattr } = node_ops;
      node_ops.setattr = (node, change) =>
        setattr(node, change.mode === undefined ? change : { ...change, mode: change.mode & ~0o077 });
      stream_ops.fsync = (stream) => {
        try {
          fs.fsyncSync(stream.nfd);
        } catch (error) {
          const { code } = error as NodeJS.ErrnoException;
          // PostgreSQL also syncs directories and pipes, which some file systems refuse; the data itself is not affected.
          if (code !== 'EINVAL' && code !== 'EISDIR') throw error;
        }
        return 0;
      };
    };
    const { emscriptenOpts } = result;
    return { ...result, emscriptenOpts: { ...emscriptenOpts, preRun: [...(emscriptenOpts.preRun ?? []), patch] } };
  }
}

/**
 * `-F` would turn fsync off. The small WAL keeps the directory and the recovery time small (measured: 65 MB, not 480). The
 * engine would keep every file open that it ever read, up to 1,000: after the first vacuum that is twice as many as before.
 */
const startParams = [
  ...PGlite.defaultStartParams.filter((parameter) => parameter !== '-F'),
  ...[
    'wal_sync_method=fsync',
    'max_wal_size=64MB',
    'min_wal_size=32MB',
    'shared_buffers=8MB',
    'max_files_per_process=128',
  ].flatMap((setting) => ['-c', setting]),
];

const port = parentPort;
if (!port) throw new Error('pglite-worker must run as a worker thread');
const { directory } = workerData as PgliteWorkerData;
const database = await PGlite.create({ fs: new DurableNodeFS(directory), startParams });

/** Where an answer is put together: kept for the next one, unless a large answer made it grow. */
const MAX_KEPT_BYTES = 256 * 1024;
let gathered = new Uint8Array(MAX_KEPT_BYTES);

/**
 * The answer to a batch of protocol messages. `execProtocolRaw` would parse every answer into a list that nothing empties
 * (about the size of the answer stays on the heap); the streaming call replaces that parser. All of it happens before the
 * call returns, so batches stay in order.
 */
const exchange = async (request: Uint8Array): Promise<Uint8Array<ArrayBuffer>> => {
  let sizeBytes = 0;
  // Each part, up to 8 kB, is a view of the engine's own memory, which it uses again.
  const onRawData = (part: Uint8Array): void => {
    if (sizeBytes + part.length > gathered.length) {
      const larger = new Uint8Array(2 * (sizeBytes + part.length));
      larger.set(gathered.subarray(0, sizeBytes));
      gathered = larger;
    }
    gathered.set(part, sizeBytes);
    sizeBytes += part.length;
  };
  await database.execProtocolRawStream(request, { syncToFs: false, onRawData });
  // A copy of its own, because what is posted is transferred whole.
  const answer = gathered.slice(0, sizeBytes);
  if (gathered.length > MAX_KEPT_BYTES) gathered = new Uint8Array(MAX_KEPT_BYTES);
  return answer;
};

port.on('message', async (request: PgliteRequest) => {
  if ('close' in request) {
    await database.close();
    port.postMessage({ closed: true } satisfies PgliteResponse);
    port.close();
    return;
  }
  const bytes = await exchange(request.bytes);
  port.postMessage({ id: request.id, bytes } satisfies PgliteResponse, [bytes.buffer]);
});
port.postMessage({ ready: true } satisfies PgliteResponse);
