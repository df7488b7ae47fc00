import type { DomainContext } from '../../domain/context.js';
import type { ApiExtension } from '../../http/plugins/operation-route.js';
import { robotsApi } from '../api/robots-api.js';
import { directiveRoutes } from './directives.js';
import { robotsJobRoutes } from './jobs.js';

export const robotsRoutes = (context: DomainContext): ApiExtension => ({
  api: robotsApi,
  addRoutes: (route) => {
    directiveRoutes(route, context);
    robotsJobRoutes(route, context);
  },
});
