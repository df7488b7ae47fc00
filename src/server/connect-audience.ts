import { findWatched } from '../audience/find-watched.js';
import { audienceRoutes } from '../audience/routes/audience-routes.js';
import type { WatchedVideo } from '../domain/usage/engagement-spots.js';
import type { ApiExtension } from '../http/plugins/operation-route.js';
import type { Base, Parts } from './parts.js';

/** What the server needs of the audience: who watched, how well it played. */
export interface Audience {
  readonly apiExtension: ApiExtension;
  /** What viewers played of an asset; undefined when no view of it is known. */
  findWatched(asset: { readonly id: string; readonly environment_id: string }): Promise<WatchedVideo | undefined>;
}

/** Connects the audience. Nothing else of the server knows it. */
export const connectAudience = (_base: Base, { context }: Omit<Parts, 'robots' | 'audience'>): Audience => ({
  apiExtension: audienceRoutes(context),
  findWatched: async ({ id, environment_id: environmentId }) => {
    const { database, clock } = context;
    const timeframe = [0, Math.ceil(clock.now().getTime() / 1000) + 1] as const;
    const target = { environmentId, dimension: 'asset_id', id, timeframe } as const;
    const watched = await findWatched(database.queryable, target);
    return watched.views > 0 ? watched : undefined;
  },
});
