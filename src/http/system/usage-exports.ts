import { validateUsageExportsQuery } from '../../api/validate/usage-exports.js';
import type { Route } from '../plugins/operation-route.js';

/** Nothing is billed here, so that there is nothing to export. */
export const usageExportRoutes = (route: Route): void => {
  route('listUsageExports', async ({ query }) => {
    const { limit, page } = validateUsageExportsQuery(query);
    return { data: [], meta: { limit, page, pages: 0, total: 0 } };
  });
};
