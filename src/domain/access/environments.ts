import type { Database } from '../../db/database.js';
import { insertEnvironment, listEnvironments as listEnvironmentRows } from '../../db/tables/environment.js';
import type { Clock } from '../../lib/clock.js';
import { KinoraError } from '../../lib/errors.js';
import { newShortId } from '../../lib/ids.js';

export interface EnvironmentInfo {
  readonly id: string;
  readonly name: string;
  readonly type: 'development' | 'production';
  readonly createdAt: Date;
}

/** @throws KinoraError `invalid_parameters` when the name is taken */
export const createEnvironment = async (
  database: Database,
  environment: Pick<EnvironmentInfo, 'name' | 'type'>,
  clock: Clock,
): Promise<EnvironmentInfo> => {
  const row = await insertEnvironment(database.queryable, {
    id: newShortId(),
    ...environment,
    created_at: clock.now(),
  });
  if (row) return { id: row.id, name: row.name, type: row.type, createdAt: row.created_at };
  throw new KinoraError('invalid_parameters', {
    messages: [`An environment with the name ${environment.name} already exists.`],
  });
};

/** Oldest first: the first one is the default environment. */
export const listEnvironments = async (database: Database): Promise<EnvironmentInfo[]> =>
  (await listEnvironmentRows(database.queryable)).map(({ id, name, type, created_at: createdAt }) => ({
    id,
    name,
    type,
    createdAt,
  }));
