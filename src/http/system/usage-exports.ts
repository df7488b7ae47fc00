import { validateUsageExportsQuery } from '../../api/validate/usage-exports.js';
import type { Route } from '../plugins/operation-route.js';

/** Kinora does not bill, so there is nothing to export. */
export const usageExportRoutes = (route: Route): void => {
  route('listUsageExports', async ({ query }) => {
    const { limit, page } = validateUsageExportsQuery(query);
    return { data: [], meta: { limit, page, pages: 0, total: 0 } };
  });
};
