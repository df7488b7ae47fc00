import pg from 'pg';
import type { Logger } from '../telemetry/logger.js';

interface SilenceOptions {
  readonly url: string;
  readonly logger: Logger;
  /** Called after connections were ended. */
  readonly onSilent: () => void;
  /** Connections that are in use for longer are suspected. */
  readonly checkMs?: number;
  /** A new connection takes longer only if the server does not answer. */
  readonly limitMs?: number;
}

const CHECK_MS = 5_000;
const LIMIT_MS = 10_000;

/** False only if nothing is heard from the server; an error is a response. */
const responses = async (url: string, limitMs: number): Promise<boolean> => {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: limitMs });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    return message !== 'timeout expired' && code !== 'ETIMEDOUT' && code !== 'EHOSTUNREACH';
  }
};

/**
 * Ends the connections in use when the server does not answer on a new one either: a frozen server
 * or a broken network keeps them open, and their queries would wait for as long. Long queries of a
 * server that responds go on.
 * @returns ends the watch
 */
export const endSilentConnections = (pool: pg.Pool, options: SilenceOptions): (() => void) => {
  const { url, logger, onSilent, checkMs = CHECK_MS, limitMs = LIMIT_MS } = options;
  const inUseSinceMs = new Map<pg.PoolClient, number>();
  pool.on('acquire', (client) => inUseSinceMs.set(client, performance.now()));
  pool.on('release', (_, client) => inUseSinceMs.delete(client));
  pool.on('remove', (client) => inUseSinceMs.delete(client));
  let checking = false;

  const check = async (): Promise<void> => {
    const before = performance.now() - checkMs;
    const suspects = () => [...inUseSinceMs].filter(([, since]) => since <= before).map(([client]) => client);
    if (suspects().length === 0 || (await responses(url, limitMs))) return;
    const silent = suspects();
    if (silent.length === 0) return;
    logger.warn({ connections: silent.length }, 'database does not answer, connections ended');
    // With a query in progress, this closes the connection at once. The pool removes it when it is
    // released.
    for (const client of silent as unknown as pg.Client[]) client.end().catch(() => undefined);
    onSilent();
  };
  const timer = setInterval(() => {
    if (checking) return;
    checking = true;
    void check().finally(() => {
      checking = false;
    });
  }, checkMs);
  timer.unref();
  return () => clearInterval(timer);
};
