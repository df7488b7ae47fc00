import { Duplex } from 'node:stream';

/** What carries a batch of protocol messages to the embedded engine and its answer back, in order. */
export interface PgliteTransport {
  /** Resolves when the engine takes requests; starts it again if it has died. */
  ready(): Promise<void>;
  exchange(bytes: Uint8Array): Promise<Uint8Array>;
}

const message = (type: string, ...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  const head = Buffer.alloc(5);
  head.write(type, 0, 'latin1');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};
const parameter = (name: string, value: string): Buffer => message('S', Buffer.from(`${name}\0${value}\0`));

/** The answer to a startup packet; the engine has one session that is always open, so it is not asked. */
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
/** A Sync first: after an error in an extended query everything up to a Sync is ignored. */
const RESET = Buffer.concat([message('S'), message('Q', Buffer.from('rollback; deallocate all\0'))]);

/**
 * The socket that `pg` talks to when the database is embedded. It answers the handshake itself, hands on whole corked batches
 * (a message at a time is three times slower), ends whatever transaction a dropped client left open and forgets its prepared
 * statements, because the next client gets the same session.
 */
export class PgliteStream extends Duplex {
  readonly #transport: PgliteTransport;
  #greeted = false;

  constructor(transport: PgliteTransport) {
    super();
    this.#transport = transport;
  }

  connect(): this {
    this.#transport.ready().then(
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
    this.#transport.exchange(chunk).then((answer) => {
      if (!this.destroyed) this.push(Buffer.from(answer.buffer, answer.byteOffset, answer.byteLength));
      callback();
    }, callback);
  }

  override _writev(
    chunks: { chunk: Buffer; encoding: BufferEncoding }[],
    callback: (error?: Error | null) => void,
  ): void {
    // Anything written behind a startup packet or before a Terminate would be lost in one batch; `pg` never does either.
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), 'binary' as BufferEncoding, callback);
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.push(null);
    callback();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    // Not waited for: what the next client sends is behind it. When the engine is gone its transaction is gone too, so a
    // failure changes nothing.
    this.#transport.exchange(RESET).catch(() => {});
    callback(error);
  }
}
