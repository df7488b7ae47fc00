import { serializeDeliveryReport } from '../../api/responses/usage.js';
import { validateDeliveryUsageQuery } from '../../api/validate/delivery-usage.js';
import type { DomainContext } from '../../domain/context.js';
import { listDeliveryUsage } from '../../domain/usage/list-delivery-usage.js';
import type { Route } from '../plugins/operation-route.js';

export const deliveryUsageRoutes = (route: Route, context: DomainContext): void => {
  route('listDeliveryUsage', async ({ caller, query }) => {
    const request = validateDeliveryUsageQuery(query, context.clock.now());
    const { reports, totalCount } = await listDeliveryUsage(context, caller.environment.id, request);
    return {
      data: reports.map(serializeDeliveryReport),
      total_row_count: totalCount,
      timeframe: request.window,
      page: request.page.page,
      limit: request.page.limit,
    };
  });
};
