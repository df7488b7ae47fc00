import pg from 'pg';
import type { Logger } from '../telemetry/logger.js';
import { createPreparingClient } from './prepared.js';

const CONNECT_TIMEOUT_MS = 30_000;

/** PostgreSQL `bigint` as a JavaScript number: sequence numbers and byte counts stay far below 2^53. */
const toSafeInteger = (text: string): number => {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`bigint ${text} is not a safe integer`);
  return value;
};

/** A connection pool with the types that `schema.ts` promises; the same for both engines. */
export const createPool = (config: pg.PoolConfig, logger: Logger): pg.Pool => {
  const types = new pg.TypeOverrides();
  types.setTypeParser(pg.types.builtins.INT8, toSafeInteger);
  const Client = createPreparingClient();
  const pool = new pg.Pool({ connectionTimeoutMillis: CONNECT_TIMEOUT_MS, keepAlive: true, ...config, types, Client });
  const onError = (error: Error): void => logger.warn({ err: error }, 'database connection lost');
  pool.on('error', onError);
  // While a client is lent out the pool does not listen, and an error event without a listener ends the process. Its
  // queries are rejected, and the pool drops it when it comes back.
  pool.on('connect', (client) => client.on('error', onError));
  return pool;
};
