import { isKinoraError, KinoraError } from './errors.js';
import { isNoSpace } from './no-space.js';

/**
 * Network failures, and the SQLSTATE classes 08 (connection), 53 (out of resources), 57P (shutting
 * down), 58 (files can't be used) and 25006 (the server became a standby).
 */
const UNREACHABLE = /^(?:ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|08|53|57P|58|25006)/;
/**
 * Messages without a code from the PostgreSQL driver and the query builder; the last two occur
 * while the server stops.
 */
const LOST_CONNECTION =
  /^(?:Connection terminated|timeout exceeded when trying to connect|timeout expired|Client has encountered|Client was closed|driver has already been destroyed|Cannot use a pool after calling end)/;

/** Whether a query failed because the database could not be reached, not because of the query. */
export const isDatabaseUnavailable = (error: unknown): boolean =>
  error instanceof Error &&
  (('code' in error && typeof error.code === 'string' && UNREACHABLE.test(error.code)) ||
    LOST_CONNECTION.test(error.message));

/**
 * Whether a failure says nothing about what was asked: it succeeds once the database or the disk
 * works again.
 */
export const isUnavailable = (error: unknown): boolean =>
  isKinoraError(error, 'unavailable') || isDatabaseUnavailable(error) || isNoSpace(error);

/**
 * The failure as callers see it: `unavailable` for all that `isUnavailable` recognizes, others as
 * they are.
 */
export const asUnavailable = (error: unknown): unknown =>
  !isKinoraError(error) && isUnavailable(error) ? new KinoraError('unavailable', { cause: error }) : error;
