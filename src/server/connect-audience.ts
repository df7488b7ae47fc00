import { audienceRoutes } from '../audience/routes/audience-routes.js';
import type { ApiExtension } from '../http/plugins/operation-route.js';
import type { Base, Parts } from './parts.js';

/** What the server needs of the audience: who watched, how well it played. */
export interface Audience {
  readonly apiExtension: ApiExtension;
}

/** Connects the audience. Nothing else of the server knows it. */
export const connectAudience = (_base: Base, { context }: Omit<Parts, 'robots' | 'audience'>): Audience => ({
  apiExtension: audienceRoutes(context),
});
