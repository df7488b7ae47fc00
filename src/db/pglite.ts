import { fork } from 'node:child_process';
import { once } from 'node:events';
import { constants, existsSync } from 'node:fs';
import { cp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { systemClock } from '../lib/clock.js';
import { KinoraError } from '../lib/errors.js';
import { makeDirectory } from '../lib/make-directory.js';
import { syncPath } from '../lib/sync-path.js';
import type { Logger } from '../telemetry/logger.js';
import { createPool } from './create-pool.js';
import type { Database } from './database.js';
import { createDatabase } from './kysely-database.js';
import { PgliteStream, type PgliteTransport } from './pglite-stream.js';
import type { PgliteRequest, PgliteResponse, PgliteWorkerData } from './pglite-worker.js';
import { watchWrites } from './write-state.js';

/** The major version of PostgreSQL in the pinned PGlite; it cannot open the directory of another major version. */
const PG_MAJOR = '18';
const MAINTENANCE_CHECK_MS = 15_000;
/**
 * Maintenance runs as soon as this much write-ahead log has been written since the last run, or after the maximum age if
 * anything was written.
 */
const MAINTENANCE_WAL_BYTES = 32 * 1024 * 1024;
const MAINTENANCE_MAX_AGE_MS = 10 * 60_000;
/** The engine is not opened again more often than this while its disk is full, because reads work meanwhile. */
const REOPEN_EVERY_MS = 5000;
/** An engine that could not be opened is tried again after this time. */
const RETRY_MS = 1000;

/** The engine's thread; it handles the requests of its single connection in order. */
interface Engine extends PgliteTransport {
  /** Channels that the engine listens on; each new thread subscribes to them again. */
  readonly channels: Set<string>;
  /**
   * Ends the thread as a crash would; the next query opens the engine again. Does nothing if this was seconds ago and it
   * is not dead.
   * @returns whether the thread ends
   */
  reopen(isDead: boolean): boolean;
  close(): Promise<void>;
}

let compiled: Promise<WebAssembly.Module> | undefined;
/** The compiled engine. Its threads share the code, so that opening it again takes a third less CPU time. */
const engineModule = (): Promise<WebAssembly.Module> => {
  const path = new URL('./pglite.wasm', import.meta.resolve('@electric-sql/pglite'));
  compiled ??= readFile(path)
    .then((bytes) => WebAssembly.compile(bytes))
    .catch((error) => {
      compiled = undefined;
      throw error;
    });
  return compiled;
};

/** "No space left on device" in WebAssembly, whose errors have only a number. */
const ERRNO_NOSPC = 51;
const asError = (thrown: unknown): Error => {
  if (thrown instanceof Error) return thrown;
  const { errno } = thrown as { readonly errno?: number };
  const reason = errno === ERRNO_NOSPC ? 'No space left on device' : `error number ${errno}`;
  return new Error(`the database engine could not use its files: ${reason}`);
};

/** Starts the engine's thread; `onStarting` receives the worker before it is ready. */
export const startWorker = async (directory: string, onStarting?: (worker: Worker) => void): Promise<Worker> => {
  const worker = new Worker(new URL('./pglite-worker.js', import.meta.url), {
    workerData: { directory, module: await engineModule() } satisfies PgliteWorkerData,
  });
  onStarting?.(worker);
  await new Promise<void>((resolve, reject) => {
    worker.once('message', () => resolve());
    worker.once('error', (thrown) => reject(asError(thrown)));
    worker.once('exit', (code) => reject(new Error(`the database engine ended with code ${code} while it opened`)));
  }).catch(async (error) => {
    await worker.terminate();
    throw error;
  });
  // Not `removeAllListeners()` without an event: the worker's own listeners keep its port started.
  for (const event of ['message', 'error', 'exit']) worker.removeAllListeners(event);
  return worker;
};

export const closeWorker = async (worker: Worker): Promise<void> => {
  const exited = new Promise((resolve) => worker.once('exit', resolve));
  worker.postMessage({ close: true } satisfies PgliteRequest);
  await exited;
};

const listenCommand = (channel: string): Buffer => {
  const text = `listen "${channel}"\0`;
  const bytes = Buffer.alloc(5 + text.length);
  bytes.write('Q', 0, 'latin1');
  bytes.writeInt32BE(4 + text.length, 1);
  bytes.write(text, 5, 'latin1');
  return bytes;
};

const createEngine = (directory: string, logger: Logger): Engine => {
  const channels = new Set<string>();
  const waiting = new Map<number, { resolve: (bytes: Uint8Array) => void; reject: (error: Error) => void }>();
  let nextId = 1;
  let started: Promise<Worker> | undefined;
  /** The thread that has opened the directory. */
  let current: Worker | undefined;
  let reopenedAtMs = Number.NEGATIVE_INFINITY;
  /** The end of the thread before: two in one directory would damage the database. */
  let ended: Promise<unknown> | undefined;
  let closing = false;

  const exchangeWith = (worker: Worker, bytes: Uint8Array): Promise<Uint8Array> =>
    new Promise((resolve, reject) => {
      const id = nextId++;
      waiting.set(id, { resolve, reject });
      // Copied because a transfer moves the whole underlying buffer, which may be a shared pool.
      const own = new Uint8Array(bytes);
      worker.postMessage({ id, bytes: own } satisfies PgliteRequest, [own.buffer]);
    });

  const start = async (): Promise<Worker> => {
    await ended;
    const worker = await startWorker(directory);
    current = worker;
    worker.on('message', (response: PgliteResponse) => {
      if (!('id' in response)) return;
      waiting.get(response.id)?.resolve(response.bytes);
      waiting.delete(response.id);
    });
    worker.on('error', (error) => logger.error({ err: error }, 'database engine failed'));
    worker.on('exit', (code) => {
      if (current === worker) {
        current = undefined;
        started = undefined;
        if (!closing) logger.error({ exit_code: code }, 'database engine exited, reopening on the next query');
      }
      const error = new KinoraError('unavailable', { details: { stage: 'database engine', exit_code: code } });
      for (const { reject } of waiting.values()) reject(error);
      waiting.clear();
    });
    for (const channel of channels) await exchangeWith(worker, listenCommand(channel));
    return worker;
  };

  const running = (): Promise<Worker> => {
    if (closing) return Promise.reject(new KinoraError('unavailable', { details: { stage: 'database closed' } }));
    started ??= start().catch((cause) => {
      setTimeout(() => {
        started = undefined;
      }, RETRY_MS).unref();
      throw new KinoraError('unavailable', { cause, details: { stage: 'database engine' } });
    });
    return started;
  };

  return {
    channels,
    ready: async () => void (await running()),
    exchange: async (bytes) => {
      if (!started || closing) throw new KinoraError('unavailable', { details: { stage: 'database engine' } });
      return exchangeWith(await started, bytes);
    },
    reopen: (isDead) => {
      const worker = current;
      const nowMs = systemClock.monotonicMs();
      if (!worker || closing || (!isDead && nowMs - reopenedAtMs < REOPEN_EVERY_MS)) return false;
      reopenedAtMs = nowMs;
      current = undefined;
      started = undefined;
      ended = worker.terminate();
      return true;
    },
    close: async () => {
      closing = true;
      if (current) await closeWorker(current);
    },
  };
};

/** The engine copies its template without a sync, so the files could be lost in a power failure after the rename. */
const syncTree = async (directory: string): Promise<void> => {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile() || entry.isDirectory());
  for (const path of [directory, ...paths.map((entry) => join(entry.parentPath, entry.name))]) await syncPath(path);
};

/**
 * Creates the database next to its final place and moves it there when it is complete: if `initdb` is interrupted, the
 * directory can contain a PG_VERSION but never open again.
 */
const createDirectory = async (directory: string, logger: Logger): Promise<void> => {
  logger.info({}, 'creating the database (only once, takes some seconds)');
  const parent = dirname(directory);
  await makeDirectory(parent);
  for (const name of await readdir(parent)) {
    if (name.startsWith(`${basename(directory)}.new-`))
      await rm(join(parent, name), { recursive: true, force: true, maxRetries: 5 });
  }
  const fresh = `${directory}.new-${process.pid}`;
  // Runs in a separate process: initdb uses 800 MB, and a thread would leave 100 MB of it in the server for good.
  // The process lives for seconds: optimizing its WebAssembly takes 2 of the 5 s of CPU time without any benefit.
  const child = fork(new URL('./create-pglite.js', import.meta.url), [fresh], {
    execArgv: ['--liftoff-only'],
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  let errorText = '';
  child.stderr!.on('data', (chunk) => {
    errorText += chunk;
  });
  const [code, signal] = await once(child, 'close');
  if (code !== 0) {
    await rm(fresh, { recursive: true, force: true });
    throw new Error(
      `the process that creates the database ended with ${signal ?? `code ${code}`}: ${errorText.trim()}`,
    );
  }
  await syncTree(fresh);
  await rename(fresh, directory);
  await syncPath(parent);
};

const checkVersion = async (directory: string): Promise<void> => {
  const version = await readFile(join(directory, 'PG_VERSION'), 'utf8').then(
    (text) => text.trim(),
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    },
  );
  if (version === PG_MAJOR) return;
  const found = version === undefined ? 'is not a database directory' : `was made by PostgreSQL ${version}`;
  throw new KinoraError('config_invalid', {
    messages: [
      `The directory ${directory} ${found}; this version of Kinora opens PostgreSQL ${PG_MAJOR} directories only. ` +
        'Use the version of Kinora that created it, or move its contents with a backup.',
    ],
  });
};

/**
 * Opens PostgreSQL inside this process (PGlite on a worker thread). The caller must hold the lock of the data directory:
 * two processes that use one directory corrupt it.
 */
export const openPglite = async (directory: string, logger: Logger): Promise<Database> => {
  if (!existsSync(directory)) await createDirectory(directory, logger);
  await checkVersion(directory);
  const engine = createEngine(directory, logger);
  await engine.ready();

  const pool = createPool(
    // The session lives as long as the database, so closing an idle connection would only require a reconnect.
    { stream: () => new PgliteStream(engine) as never, max: 1, idleTimeoutMillis: 0 },
    logger,
  );

  // What the engine knows of its files may be wrong now.
  watchWrites(pool, (error, connection) => {
    if (!engine.reopen(error.severity === 'PANIC')) return;
    logger.error({ err: error }, 'database could not write, opening it again');
    connection.stream.destroy();
  });

  const handlers = new Map<string, Set<(payload: string) => void>>();
  pool.on('connect', (client) => {
    client.on('notification', ({ channel, payload }) => {
      for (const handler of handlers.get(channel) ?? []) handler(payload ?? '');
    });
  });

  const walPosition = async (): Promise<number> => {
    const { rows } = await pool.query<{ position: number }>(
      "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint as position",
    );
    return rows[0]!.position;
  };
  let maintainedPosition = await walPosition();
  let maintainedAtMs = systemClock.monotonicMs();
  const maintain = async (): Promise<void> => {
    // The embedded engine has no background processes: without this the log and dead rows would grow without limit.
    const written = (await walPosition()) - maintainedPosition;
    const ageMs = systemClock.monotonicMs() - maintainedAtMs;
    if (written < MAINTENANCE_WAL_BYTES && (written === 0 || ageMs < MAINTENANCE_MAX_AGE_MS)) return;
    await pool.query('checkpoint');
    await pool.query('vacuum (analyze)');
    maintainedPosition = await walPosition();
    maintainedAtMs = systemClock.monotonicMs();
  };
  let maintaining = Promise.resolve();
  const timer = setInterval(() => {
    maintaining = maintain().catch((error) => logger.error({ err: error }, 'database maintenance failed'));
  }, MAINTENANCE_CHECK_MS).unref();

  return createDatabase({
    engine: 'pglite',
    pool,
    listen: async (channel, handler) => {
      const known = handlers.get(channel) ?? new Set();
      handlers.set(channel, known.add(handler));
      try {
        // Also for a channel with a handler: its own LISTEN may fail yet.
        await pool.query(`listen "${channel}"`);
      } catch (error) {
        known.delete(handler);
        throw error;
      }
      engine.channels.add(channel);
      // The session keeps listening: a channel without a handler costs nothing.
      return async () => void known.delete(handler);
    },
    snapshot: async (target) => {
      // This is the pool's only connection. The engine works only on request, so its files do not change while the
      // connection is held.
      const client = await pool.connect();
      try {
        await client.query('checkpoint');
        await cp(directory, target, { recursive: true, mode: constants.COPYFILE_FICLONE });
      } finally {
        client.release();
      }
    },
    beforeClose: async () => {
      clearInterval(timer);
      await maintaining;
      await pool.query('checkpoint');
    },
    afterClose: () => engine.close(),
  });
};
