import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type ErrorCode, errorRegistry, KinoraError } from '../lib/errors.js';
import { createLineReader } from '../lib/line-reader.js';
import { openControlPath } from './control-path.js';
import type { ControlRequest, ControlResponse } from './control-server.js';

const RESPONSE_LIMIT_CHARACTERS = 64 * 2 ** 20;

const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(errorRegistry, code);

/** A connection to the server that runs on a data directory. */
export class ControlConnection {
  readonly #socket: Socket;
  #receive: (response: ControlResponse) => void = () => undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('utf8');
    socket.on('error', () => undefined);
    socket.on(
      'data',
      createLineReader(
        RESPONSE_LIMIT_CHARACTERS,
        (line) => this.#receive(JSON.parse(line)),
        () => socket.destroy(),
      ),
    );
  }

  /**
   * Undefined when no server runs there.
   * @throws KinoraError `unavailable` when the socket belongs to another user
   */
  static async open(dataDir: string): Promise<ControlConnection | undefined> {
    let opened: ReturnType<typeof openControlPath>;
    try {
      opened = openControlPath(dataDir);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
    const socket = connect(opened.path);
    try {
      await once(socket, 'connect');
      return new ControlConnection(socket);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // No socket, no directory, or the socket of a server that was killed.
      if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ECONNREFUSED') return undefined;
      const messages = [`The server of ${dataDir} cannot be asked (${code}). Run the command as the server's user.`];
      throw new KinoraError('unavailable', { messages, cause: error });
    } finally {
      opened.release();
    }
  }

  /**
   * One call at a time.
   * @throws KinoraError what the server threw; `unavailable` when the server ends during the call
   */
  async call(method: string, params: unknown): Promise<unknown> {
    const response = await new Promise<ControlResponse>((resolve, reject) => {
      this.#receive = resolve;
      const messages = ['The server ended before it answered.'];
      this.#socket.once('close', () => reject(new KinoraError('unavailable', { messages })));
      this.#socket.write(`${JSON.stringify({ method, params } satisfies ControlRequest)}\n`);
    });
    if ('result' in response) return response.result;
    const { code, messages } = response.error;
    throw new KinoraError(isErrorCode(code) ? code : 'internal_error', { messages });
  }

  /** Tells the server that the results are no longer needed. */
  close(): void {
    this.#socket.destroy();
  }
}
