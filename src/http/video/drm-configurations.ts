import { readPageQuery } from '../../api/list-query.js';
import { KinoraError } from '../../lib/errors.js';
import type { Route } from '../plugins/operation-route.js';

/** No key service can be configured on this server, so that no DRM configuration exists. */
export const drmConfigurationRoutes = (route: Route): void => {
  route('listDrmConfigurations', async ({ query }) => {
    readPageQuery(query);
    return { data: [] };
  });

  route('getDrmConfiguration', async () => {
    throw new KinoraError('not_found');
  });
};
