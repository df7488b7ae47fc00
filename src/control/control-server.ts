import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { isKinoraError, KinoraError } from '../lib/errors.js';
import { createLineReader } from '../lib/line-reader.js';
import type { Logger } from '../telemetry/logger.js';
import { openControlPath } from './control-path.js';

/** Returns the answer to a request, as JSON. `closed` settles when the caller has disconnected. */
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
 * Answers the commands of this machine on a socket in the data directory. Only the owner of the directory, who can
 * read and change everything anyway, can open it, so no token is required. The caller holds the directory's lock.
 */
export const startControlServer = async (
  dataDir: string,
  handlers: Readonly<Record<string, ControlHandler>>,
  logger: Logger,
): Promise<{ stop(): Promise<void> }> => {
  const { path, release } = openControlPath(dataDir);
  // Left by a server that was killed.
  rmSync(path, { force: true });
  const sockets = new Set<Socket>();

  const response = async (line: string, closed: Promise<void>): Promise<ControlResponse> => {
    try {
      const { method, params } = JSON.parse(line) as ControlRequest;
      if (!Object.hasOwn(handlers, method)) {
        const messages = ['The running server does not know this command; it may be of another version.'];
        throw new KinoraError('invalid_parameters', { messages });
      }
      return { result: (await handlers[method]!(params as never, closed)) ?? null };
    } catch (error) {
      if (isKinoraError(error)) return { error: { code: error.code, messages: error.messages } };
      logger.error({ err: error }, 'a command failed');
      return { error: { code: 'internal_error', messages: ['The command failed. See the log of the server.'] } };
    }
  };

  const server = createServer((socket) => {
    sockets.add(socket);
    const closed = new Promise<void>((resolve) => socket.once('close', resolve));
    void closed.then(() => sockets.delete(socket));
    // A caller that disconnects early is not a server failure.
    socket.on('error', () => undefined);
    const onLine = (line: string): void => {
      void response(line, closed).then((given) => socket.writable && socket.write(`${JSON.stringify(given)}\n`));
    };
    socket.setEncoding('utf8');
    socket.on(
      'data',
      createLineReader(REQUEST_LIMIT_CHARACTERS, onLine, () => socket.destroy()),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  chmodSync(path, 0o600);

  return {
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
      release();
    },
  };
};
