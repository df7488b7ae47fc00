import { setTimeout as sleep } from 'node:timers/promises';
import { ControlConnection } from '../../control/control-client.js';
import type { ServerStatus } from '../../control/control-handlers.js';
import type { ImportOperation, ImportParams, ImportResult } from '../../control/import-operations.js';
import { cancelled } from '../../lib/abort.js';
import { isKinoraError, KinoraError } from '../../lib/errors.js';

/** Long enough for a restart of the server, with the recovery of its database. */
const AWAY_LIMIT_MS = 120_000;
const RETRY_MS = 500;

/** @throws KinoraError what the operation throws; `unavailable` when no server runs */
export type ServerCall = <O extends ImportOperation | 'status'>(
  operation: O,
  params: O extends ImportOperation ? ImportParams<O> : object,
) => Promise<O extends ImportOperation ? ImportResult<O> : ServerStatus>;

export interface ServerCallOptions {
  readonly dataDir: string;
  readonly signal: AbortSignal;
  /** Called once each time the server is gone. */
  readonly onUnavailable: () => void;
}

/**
 * Asks the server that runs on the data directory. Once it has answered, waits for it while it is
 * restarted.
 */
export const createServerCalls = ({ dataDir, signal, onUnavailable }: ServerCallOptions): ServerCall => {
  let hasResponded = false;

  const callOnce = async (operation: string, params: unknown): Promise<{ result: unknown } | undefined> => {
    const server = await ControlConnection.open(dataDir);
    if (!server) return undefined;
    try {
      const result = await server.call(operation, params);
      hasResponded = true;
      return { result };
    } catch (error) {
      if (hasResponded && isKinoraError(error, 'unavailable')) return undefined;
      throw error;
    } finally {
      server.close();
    }
  };

  return async (operation, params) => {
    for (let waitedMs = 0; ; waitedMs += RETRY_MS) {
      const response = await callOnce(operation, params);
      if (response) return response.result as never;
      const end = hasResponded ? 'has ended. Start it again, and run the same command to continue.' : 'is not running.';
      if (!hasResponded || waitedMs >= AWAY_LIMIT_MS)
        throw new KinoraError('unavailable', {
          messages: [`The server of ${dataDir} ${end} It must run during an import, because it fetches the files.`],
        });
      if (waitedMs === 0) onUnavailable();
      await sleep(RETRY_MS, undefined, { signal }).catch((cause: unknown) => {
        throw cancelled(signal, cause);
      });
    }
  };
};
