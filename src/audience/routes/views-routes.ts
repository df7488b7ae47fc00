import type { DomainContext } from '../../domain/context.js';
import type { Route } from '../../http/plugins/operation-route.js';

export const viewsRoutes = (_route: Route<string>, _context: DomainContext): void => {};
