import { readPageQuery } from '../../api/validate/list-query.js';
import { findDrmConfiguration, listDrmConfigurationRows } from '../../db/tables/playback/drm-configuration.js';
import type { DomainContext } from '../../domain/context.js';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import type { Route } from '../plugins/operation-route.js';

/**
 * The operator creates them on the command line or in the console; the API only shows their IDs.
 */
export const drmConfigurationRoutes = (route: Route, { database }: DomainContext): void => {
  const db = database.queryable;

  route('listDrmConfigurations', async ({ caller, query }) => {
    const { limit, offset } = readPageQuery(query);
    const rows = await listDrmConfigurationRows(db, { limit, offset }, caller.environment.id);
    return { data: rows.map(({ id }) => ({ id })) };
  });

  route('getDrmConfiguration', async ({ caller, params }) => {
    const id = params.configurationId!;
    const row = isId(id) ? await findDrmConfiguration(db, id, caller.environment.id) : undefined;
    if (!row) throw new KinoraError('not_found');
    return { data: { id } };
  });
};
