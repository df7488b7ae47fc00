import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { isKinoraError, KinoraError } from '../lib/errors.js';
import { createLineReader } from '../lib/line-reader.js';
import type { Logger } from '../telemetry/logger.js';
import { type ControlPath, openControlPath } from './control-path.js';

/**
 * Returns the response to a request, as JSON. `closed` settles when the caller has disconnected.
 */
export type ControlHandler = (params: never, closed: Promise<void>) => Promise<unknown>;

/** One line each, as JSON; the connection stays open while the caller needs the result. */
export interface ControlRequest {
  readonly method: string;
  readonly params: unknown;
}
export type ControlResponse =
  | { readonly result: unknown }
  | { readonly error: { readonly code: string; readonly messages: readonly string[] } };

const REQUEST_LIMIT_CHARACTERS = 64 * 1024;

/**
 * Runs the commands of this machine on a socket in the data directory. Only the owner of the
 * directory, who can read and change everything anyway, can open it, so no token is required. The
 * caller holds the directory's lock.
 */
export class ControlServer {
  readonly #path: ControlPath;
  readonly #handlers: Readonly<Record<string, ControlHandler>>;
  readonly #logger: Logger;
  readonly #server = createServer((socket) => this.#accept(socket));
  readonly #sockets = new Set<Socket>();

  private constructor(path: ControlPath, handlers: Readonly<Record<string, ControlHandler>>, logger: Logger) {
    this.#path = path;
    this.#handlers = handlers;
    this.#logger = logger;
  }

  static async start(
    dataDir: string,
    handlers: Readonly<Record<string, ControlHandler>>,
    logger: Logger,
  ): Promise<ControlServer> {
    const path = openControlPath(dataDir);
    // Left by a server that was killed.
    rmSync(path.path, { force: true });
    const control = new ControlServer(path, handlers, logger);
    await control.#listen();
    return control;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    this.#path.release();
  }

  async #listen(): Promise<void> {
    const { path } = this.#path;
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(path, resolve);
    });
    chmodSync(path, 0o600);
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    const closed = new Promise<void>((resolve) => socket.once('close', resolve));
    void closed.then(() => this.#sockets.delete(socket));
    // A caller that disconnects early is not a server failure.
    socket.on('error', () => undefined);
    const onLine = (line: string): void => {
      void this.#run(line, closed).then((result) => socket.writable && socket.write(`${JSON.stringify(result)}\n`));
    };
    socket.setEncoding('utf8');
    socket.on(
      'data',
      createLineReader(REQUEST_LIMIT_CHARACTERS, onLine, () => socket.destroy()),
    );
  }

  async #run(line: string, closed: Promise<void>): Promise<ControlResponse> {
    try {
      const { method, params } = JSON.parse(line) as ControlRequest;
      if (!Object.hasOwn(this.#handlers, method)) {
        const messages = ['The running server does not know this command; it may be of another version.'];
        throw new KinoraError('invalid_parameters', { messages });
      }
      return { result: (await this.#handlers[method]!(params as never, closed)) ?? null };
    } catch (error) {
      if (isKinoraError(error)) return { error: { code: error.code, messages: error.messages } };
      this.#logger.error({ err: error }, 'a command failed');
      return { error: { code: 'internal_error', messages: ['The command failed. See the log of the server.'] } };
    }
  }
}
