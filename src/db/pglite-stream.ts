import { Duplex } from 'node:stream';
import type { PgliteThread } from './pglite-thread.js';

const message = (type: string, ...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  const head = Buffer.alloc(5);
  head.write(type, 0, 'latin1');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};
const parameter = (name: string, value: string): Buffer => message('S', Buffer.from(`${name}\0${value}\0`));

/**
 * The response to a startup packet. The engine has one session that is always open, so it does not
 * handle startup packets.
 */
const GREETING = Buffer.concat([
  message('R', Buffer.alloc(4)),
  parameter('server_version', '18.6'),
  parameter('client_encoding', 'UTF8'),
  parameter('DateStyle', 'ISO, MDY'),
  parameter('integer_datetimes', 'on'),
  parameter('standard_conforming_strings', 'on'),
  parameter('TimeZone', 'UTC'),
  message('K', Buffer.alloc(8)),
  message('Z', Buffer.from('I')),
]);
const TERMINATE = 'X'.charCodeAt(0);
/**
 * Starts with a Sync, because after an error in an extended query everything before a Sync is
 * ignored.
 */
const RESET = Buffer.concat([message('S'), message('Q', Buffer.from('rollback; deallocate all\0'))]);

/**
 * The socket that `pg` uses when the database is embedded. It answers the handshake itself and
 * passes on whole corked batches, because sending one message at a time is three times slower. When
 * a client is dropped it rolls back the open transaction and deallocates the prepared statements,
 * because the next client gets the same session.
 */
export class PgliteStream extends Duplex {
  readonly #thread: PgliteThread;
  #greeted = false;

  constructor(thread: PgliteThread) {
    super();
    this.#thread = thread;
  }

  connect(): this {
    this.#thread.ready().then(
      () => this.emit('connect'),
      (error) => this.destroy(error),
    );
    return this;
  }

  setNoDelay(): this {
    return this;
  }
  setKeepAlive(): this {
    return this;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    if (!this.#greeted) {
      this.#greeted = true;
      this.push(GREETING);
      callback();
      return;
    }
    if (chunk[0] === TERMINATE) {
      callback();
      return;
    }
    this.#thread.exchange(chunk).then((response) => {
      if (!this.destroyed) this.push(Buffer.from(response.buffer, response.byteOffset, response.byteLength));
      callback();
    }, callback);
  }

  override _writev(
    chunks: { chunk: Buffer; encoding: BufferEncoding }[],
    callback: (error?: Error | null) => void,
  ): void {
    // In one batch, messages after a startup packet or before a Terminate would be lost; `pg` never
    // sends such a batch.
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), 'binary' as BufferEncoding, callback);
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.push(null);
    callback();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    // There is no need to wait: messages from the next client are queued after this one. A failure
    // has no effect, because if the engine has exited its transaction has ended too.
    this.#thread.exchange(RESET).catch(() => {});
    callback(error);
  }
}
