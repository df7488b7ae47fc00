import type { AdminOperation, AdminParams, AdminResult } from '../../control/admin-operations.js';
import { ControlConnection } from '../../control/control-client.js';
import type { Database } from '../../db/database.js';
import type { CommandContext } from './command.js';
import { withDatabase } from './with-database.js';

/**
 * Runs an operation in the running server, or on the database itself when no server runs.
 * @throws KinoraError as the operation; `data_dir_in_use` while a server starts or stops
 */
export const administer = async <O extends AdminOperation>(
  context: Pick<CommandContext, 'config'>,
  operation: O,
  params: AdminParams<O>,
): Promise<AdminResult<O>> => {
  const server = await ControlConnection.open(context.config.dataDir);
  if (!server) {
    // Loaded on demand: with the database layer, it takes half the time of a command that does not
    // need it.
    const { adminOperations } = await import('../../control/admin-operations.js');
    const run = adminOperations[operation] as (database: Database, params: AdminParams<O>) => Promise<AdminResult<O>>;
    return withDatabase(context, (database) => run(database, params));
  }
  try {
    return (await server.call(operation, params)) as AdminResult<O>;
  } finally {
    server.close();
  }
};
