import type { DomainContext } from '../../domain/context.js';
import type { Route } from '../../http/plugins/operation-route.js';
import { readAssetId } from '../api/collector-api.js';
import { deleteSumsOfAsset, deleteViewsOfAsset } from '../tables/old-views.js';

const BATCH = 500;

export const deletionRoutes = (route: Route<string>, { database }: DomainContext): void => {
  route('deleteVideoViews', async ({ caller, query }) => {
    const assetId = readAssetId(query);
    const db = database.queryable;
    const environmentId = caller.environment.id;
    while ((await deleteViewsOfAsset(db, environmentId, assetId, BATCH)) === BATCH);
    await deleteSumsOfAsset(db, environmentId, assetId);
    return undefined;
  });
};
