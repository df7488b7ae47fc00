import { readFile } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { systemClock } from '../lib/clock.js';
import { KinoraError } from '../lib/errors.js';
import type { Logger } from '../telemetry/logger.js';
import type { PgliteRequest, PgliteResponse, PgliteWorkerData } from './pglite-worker.js';

/**
 * The engine is not opened again more often than this while its disk is full, because reads work
 * meanwhile.
 */
const REOPEN_EVERY_MS = 5000;
/** An engine that could not be opened is tried again after this time. */
const RETRY_MS = 1000;

let compiled: Promise<WebAssembly.Module> | undefined;
/**
 * The compiled engine. Its threads share the code, so that opening it again takes a third less CPU
 * time.
 */
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

/**
 * The embedded engine's thread: it handles the requests of its single connection in order, and is
 * started again when it has exited.
 */
export class PgliteThread {
  /** Channels that the engine listens on; each new thread subscribes to them again. */
  readonly channels = new Set<string>();
  #changes = 0;
  /** Those that the current thread has reported. */
  #writes = -1;
  readonly #directory: string;
  readonly #logger: Logger;
  readonly #waiting = new Map<number, { resolve: (bytes: Uint8Array) => void; reject: (error: Error) => void }>();
  #nextId = 1;
  #started: Promise<Worker> | undefined;
  /** The thread that has opened the directory. */
  #current: Worker | undefined;
  #reopenedAtMs = Number.NEGATIVE_INFINITY;
  /** The end of the thread before: two in one directory would damage the database. */
  #ended: Promise<unknown> | undefined;
  #closing = false;

  constructor(directory: string, logger: Logger) {
    this.#directory = directory;
    this.#logger = logger;
  }

  /** Differs from an earlier value if anything was changed since, and perhaps if nothing was. */
  get changes(): number {
    return this.#changes;
  }

  /** Resolves when the engine accepts requests. */
  async ready(): Promise<void> {
    if (this.#closing) throw new KinoraError('unavailable', { details: { stage: 'database closed' } });
    this.#started ??= this.#start().catch((cause) => {
      setTimeout(() => {
        this.#started = undefined;
      }, RETRY_MS).unref();
      throw new KinoraError('unavailable', { cause, details: { stage: 'database engine' } });
    });
    await this.#started;
  }

  /** Sends a batch of protocol messages and returns the response. */
  async exchange(bytes: Uint8Array): Promise<Uint8Array> {
    if (!this.#started || this.#closing)
      throw new KinoraError('unavailable', { details: { stage: 'database engine' } });
    return this.#exchangeWith(await this.#started, bytes);
  }

  /**
   * Ends the thread as a crash would; the next query opens the engine again. Does nothing if this
   * was seconds ago and it is not dead.
   * @returns whether the thread ends
   */
  reopen(isDead: boolean): boolean {
    const worker = this.#current;
    const nowMs = systemClock.monotonicMs();
    if (!worker || this.#closing || (!isDead && nowMs - this.#reopenedAtMs < REOPEN_EVERY_MS)) return false;
    this.#reopenedAtMs = nowMs;
    this.#current = undefined;
    this.#started = undefined;
    this.#ended = worker.terminate();
    return true;
  }

  async close(): Promise<void> {
    this.#closing = true;
    if (this.#current) await closeWorker(this.#current);
  }

  async #start(): Promise<Worker> {
    await this.#ended;
    const worker = await startWorker(this.#directory);
    this.#current = worker;
    worker.on('message', (response: PgliteResponse) => {
      if (!('id' in response)) return;
      // Before the caller of a change hears of it.
      if (response.writes !== this.#writes) this.#changes += 1;
      this.#writes = response.writes;
      this.#waiting.get(response.id)?.resolve(response.bytes);
      this.#waiting.delete(response.id);
    });
    worker.on('error', (error) => this.#logger.error({ err: error }, 'database engine failed'));
    worker.on('exit', (code) => this.#onExit(worker, code));
    for (const channel of this.channels) await this.#exchangeWith(worker, listenCommand(channel));
    return worker;
  }

  #onExit(worker: Worker, code: number): void {
    // A change may have been made whose response is lost.
    this.#changes += 1;
    this.#writes = -1;
    if (this.#current === worker) {
      this.#current = undefined;
      this.#started = undefined;
      if (!this.#closing)
        this.#logger.error({ exit_code: code }, 'database engine exited, reopening on the next query');
    }
    const error = new KinoraError('unavailable', { details: { stage: 'database engine', exit_code: code } });
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  #exchangeWith(worker: Worker, bytes: Uint8Array): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const id = this.#nextId++;
      this.#waiting.set(id, { resolve, reject });
      // Copied because a transfer moves the whole underlying buffer, which may be a shared pool.
      const own = new Uint8Array(bytes);
      worker.postMessage({ id, bytes: own } satisfies PgliteRequest, [own.buffer]);
    });
  }
}
