import fs from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { NodeFS } from '@electric-sql/pglite/nodefs';

/** Start data of the thread: the directory to open (`initdb` fills it if it is empty). */
export interface PgliteWorkerData {
  readonly directory: string;
  readonly module: WebAssembly.Module;
}

/** Message to the thread: a batch of protocol messages, or a request to close. */
export type PgliteRequest = { readonly id: number; readonly bytes: Uint8Array } | { readonly close: true };
/**
 * Message from the thread: ready for requests, the response to a request with the number of writes
 * to files until then, or closed.
 */
export type PgliteResponse =
  | { readonly ready: true }
  | { readonly id: number; readonly bytes: Uint8Array; readonly writes: number }
  | { readonly closed: true };

interface EmscriptenModule {
  FS: { lookupNode: (parent: unknown, name: string) => unknown; destroyNode: (node: unknown) => void };
  NODEFS: {
    stream_ops: {
      fsync?: (stream: { nfd: number }) => number;
      write: (...args: unknown[]) => number;
    };
    node_ops: {
      setattr: (node: unknown, change: { mode?: number }) => void;
      mknod: (parent: unknown, name: string, mode: number, dev: number) => unknown;
    };
  };
}

/** How often the engine has written to a file. */
let writes = 0;

/**
 * PGlite's file system never calls fsync (Emscripten's version reports success without doing
 * anything), so a power failure could lose committed transactions. This class calls it. PGlite's
 * file system also ignores the umask and gives files the mode that the engine requests, usually
 * 0666; this class restricts access to the owner. And it remembers files that could not be created,
 * for want of space, as existing; this class makes it forget them. Finally, it counts writes: a
 * transaction that changed something has written its log before the engine reports its end.
 */
class DurableNodeFS extends NodeFS {
  override async init(...args: Parameters<NodeFS['init']>): ReturnType<NodeFS['init']> {
    const result = await super.init(...args);
    const patch = (module: unknown): void => {
      const { FS, NODEFS } = module as EmscriptenModule;
      const { stream_ops, node_ops } = NODEFS;
      const { setattr, mknod } = node_ops;
      node_ops.mknod = (parent, name, ...rest) => {
        try {
          return mknod(parent, name, ...rest);
        } catch (error) {
          FS.destroyNode(FS.lookupNode(parent, name));
          throw error;
        }
      };
      node_ops.setattr = (node, change) =>
        setattr(node, change.mode === undefined ? change : { ...change, mode: change.mode & ~0o077 });
      const { write } = stream_ops;
      stream_ops.write = (...args) => {
        writes += 1;
        return write(...args);
      };
      stream_ops.fsync = (stream) => {
        try {
          fs.fsyncSync(stream.nfd);
        } catch (error) {
          const { code } = error as NodeJS.ErrnoException;
          // PostgreSQL also syncs directories and pipes, which some file systems do not support;
          // the data itself is not affected.
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
 * `-F` would turn fsync off. The small WAL limits the size of the directory (measured: 65 MB
 * instead of 480 MB) and the recovery time. Without a limit the engine keeps up to 1,000 files
 * open; the first vacuum doubles the number.
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
const { directory, module } = workerData as PgliteWorkerData;
const database = await PGlite.create({ fs: new DurableNodeFS(directory), startParams, pgliteWasmModule: module });

/**
 * The size of the buffer that collects responses; a buffer that grew for a large response is
 * replaced.
 */
const MAX_KEPT_BYTES = 256 * 1024;
let gathered = new Uint8Array(MAX_KEPT_BYTES);

/**
 * Returns the response to a batch of protocol messages. `execProtocolRaw` would also parse every
 * response into a list that is never emptied, which keeps about the size of the response on the
 * heap; the streaming call does not use that parser. The engine does all the work before the call
 * returns, so batches stay in order.
 */
const exchange = async (request: Uint8Array): Promise<Uint8Array<ArrayBuffer>> => {
  let sizeBytes = 0;
  // Each part, up to 8 kB, is a view of engine memory that will be reused.
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
  // Copied because posting transfers the whole underlying buffer.
  const response = gathered.slice(0, sizeBytes);
  if (gathered.length > MAX_KEPT_BYTES) gathered = new Uint8Array(MAX_KEPT_BYTES);
  return response;
};

port.on('message', async (request: PgliteRequest) => {
  if ('close' in request) {
    await database.close();
    port.postMessage({ closed: true } satisfies PgliteResponse);
    port.close();
    return;
  }
  const bytes = await exchange(request.bytes);
  port.postMessage({ id: request.id, bytes, writes } satisfies PgliteResponse, [bytes.buffer]);
});
port.postMessage({ ready: true } satisfies PgliteResponse);
