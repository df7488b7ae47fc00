import pg from 'pg';
import type { Logger } from '../telemetry/logger.js';
import { createPreparingClient } from './prepared.js';

const CONNECT_TIMEOUT_MS = 30_000;

/**
 * Parses a PostgreSQL `bigint` as a JavaScript number: sequence numbers and byte counts stay far
 * below 2^53.
 */
const toSafeInteger = (text: string): number => {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`bigint ${text} is not a safe integer`);
  return value;
};

/** Creates a connection pool that returns the types declared in `schema.ts`, for both engines. */
export const createPool = (config: pg.PoolConfig, logger: Logger): pg.Pool => {
  const types = new pg.TypeOverrides();
  types.setTypeParser(pg.types.builtins.INT8, toSafeInteger);
  const Client = createPreparingClient();
  const pool = new pg.Pool({ connectionTimeoutMillis: CONNECT_TIMEOUT_MS, keepAlive: true, ...config, types, Client });
  const onError = (error: Error): void => logger.warn({ err: error }, 'database connection lost');
  pool.on('error', onError);
  // The pool does not listen for errors of a client in use, and an error event without a listener
  // ends the process. The client's queries are rejected, and the pool removes the client when it is
  // released.
  pool.on('connect', (client) => client.on('error', onError));
  return pool;
};
