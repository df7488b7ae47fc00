import type { DomainContext } from '../../domain/context.js';
import type { ApiExtension } from '../../http/plugins/operation-route.js';
import { audienceApi } from '../api/audience-api.js';
import { annotationRoutes } from './annotation-routes.js';
import { deletionRoutes } from './deletion-routes.js';
import { engagementRoutes } from './engagement-routes.js';
import { metricsRoutes } from './metrics-routes.js';
import { monitoringRoutes } from './monitoring-routes.js';
import { overviewRoutes } from './overview-routes.js';
import { viewsRoutes } from './views-routes.js';

export const audienceRoutes = (context: DomainContext): ApiExtension => ({
  api: audienceApi,
  addRoutes: (route) => {
    overviewRoutes(route, context);
    viewsRoutes(route, context);
    monitoringRoutes(route, context);
    engagementRoutes(route, context);
    annotationRoutes(route, context);
    metricsRoutes(route, context);
    deletionRoutes(route, context);
  },
});
