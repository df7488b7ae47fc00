import type { DomainContext } from '../../domain/context.js';
import type { Route } from '../../http/plugins/operation-route.js';
import { serializeCurrentViewers, serializeOverview, serializeRetention } from '../api/overview-responses.js';
import { readOverview } from '../read-overview.js';
import { readRetention } from '../read-retention.js';
import { readCurrentViewers } from '../read-viewers.js';
import { readOverviewQuery, readViewersQuery } from '../requests/overview-query.js';

export const overviewRoutes = (route: Route<string>, context: DomainContext): void => {
  route('getAudienceOverview', async ({ caller, query }) => {
    const { window, ...subject } = readOverviewQuery(query, context.clock.now());
    const [from, before] = window.map((seconds) => new Date(seconds * 1000)) as [Date, Date];
    const filter = { environmentIds: [caller.environment.id], ...subject };
    const overview = await readOverview(context, { filter, from, before });
    return {
      data: serializeOverview(overview),
      timeframe: [Math.floor(overview.from.getTime() / 1000), window[1]],
    };
  });

  route('getCurrentViewers', async ({ caller, query }) => {
    const filter = { environmentIds: [caller.environment.id], ...readViewersQuery(query) };
    return { data: serializeCurrentViewers(await readCurrentViewers(context, filter)) };
  });

  route('getAssetRetention', async ({ caller, params, query }) => {
    const { window } = readOverviewQuery(query, context.clock.now());
    const of = { environmentId: caller.environment.id, assetId: params.assetId!, timeframe: window };
    return { data: serializeRetention(await readRetention(context, of)), timeframe: window };
  });
};
