import { ControlConnection } from '../../control/control-client.js';
import { KinoraError } from '../../lib/errors.js';

/**
 * Asks the server that runs on a data directory.
 * @throws KinoraError `unavailable` when none runs there, or as the server
 */
export const askServer = async <T>(dataDir: string, method: string, params: unknown = {}): Promise<T> => {
  const connection = await ControlConnection.open(dataDir);
  if (!connection) {
    const messages = [`No server runs on ${dataDir}; start it with kinora serve, or set --data-dir.`];
    throw new KinoraError('unavailable', { messages });
  }
  try {
    return (await connection.call(method, params)) as T;
  } finally {
    connection.close();
  }
};
