import pg from 'pg';
import type { Logger } from '../telemetry/logger.js';

const RECONNECT_MS = 1_000;
/** Also for waiting until a connection of the pool is free. */
export const CONNECT_TIMEOUT_MS = 15_000;

/**
 * Keeps a dedicated connection for LISTEN, because pooled connections are shared, and reconnects
 * when it is lost.
 */
export class PostgresListener {
  readonly #url: string;
  readonly #logger: Logger;
  readonly #handlers = new Map<string, Set<(payload: string) => void>>();
  readonly #whenMissed = new Set<() => void>();
  #connected: Promise<pg.Client> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #closing = false;

  constructor(url: string, logger: Logger) {
    this.#url = url;
    this.#logger = logger;
  }

  /** As `Database.listen`. */
  async listen(
    channel: string,
    handler: (payload: string) => void,
    onMissed: () => void = () => undefined,
  ): Promise<() => Promise<void>> {
    const handlers = this.#handlers.get(channel) ?? new Set();
    this.#handlers.set(channel, handlers.add(handler));
    this.#whenMissed.add(onMissed);
    const stop = (): void => {
      handlers.delete(handler);
      if (handlers.size === 0 && this.#handlers.get(channel) === handlers) this.#handlers.delete(channel);
      this.#whenMissed.delete(onMissed);
    };
    try {
      // Also for a channel with a handler: its own LISTEN may fail yet.
      await (await this.#connection()).query(`listen "${channel}"`);
    } catch (error) {
      stop();
      throw error;
    }
    return async () => stop();
  }

  /** Connects again, because the connection may be dead. */
  renew(): void {
    void this.#end();
  }

  async close(): Promise<void> {
    this.#closing = true;
    clearTimeout(this.#retry);
    await this.#end();
  }

  /** A connection that failed to open does not need to be ended. */
  async #end(): Promise<void> {
    const client = await this.#connected?.catch(() => undefined);
    await client?.end();
  }

  #connection(): Promise<pg.Client> {
    this.#connected ??= this.#connect().catch((error) => {
      this.#connected = undefined;
      throw error;
    });
    return this.#connected;
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.#url,
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    });
    client.on('notification', ({ channel, payload }) => {
      for (const handler of this.#handlers.get(channel) ?? []) handler(payload ?? '');
    });
    client.on('error', (error) => this.#logger.warn({ err: error }, 'notification connection lost'));
    await client.connect();
    try {
      for (const channel of this.#handlers.keys()) await client.query(`listen "${channel}"`);
    } catch (error) {
      await client.end();
      throw error;
    }
    client.on('end', () => {
      this.#connected = undefined;
      this.#reconnect();
    });
    return client;
  }

  #reconnect(): void {
    if (this.#closing || this.#retry) return;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#connection().then(
        () => {
          for (const tell of this.#whenMissed) tell();
        },
        (error) => {
          this.#logger.warn({ err: error }, 'notification connection failed');
          this.#reconnect();
        },
      );
    }, RECONNECT_MS);
  }
}
