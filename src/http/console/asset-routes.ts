import type { FastifyInstance } from 'fastify';
import { serializeAsset } from '../../api/serialize/asset.js';
import { searchAssets } from '../../domain/assets/search-assets.js';
import { findSession } from '../plugins/find-session.js';
import type { ConsoleDeps } from './console-deps.js';
import { readAssetSearch } from './read-asset-search.js';
import { requirePermission } from './require-permission.js';

/** The list of assets with filters, orders and a total. */
export const consoleAssetRoutes = (app: FastifyInstance, deps: ConsoleDeps): void => {
  app.get('/assets', async (request) => {
    const { caller } = await findSession(request, deps.sessions);
    requirePermission(caller, 'video:read');
    const search = readAssetSearch(request.query as Record<string, unknown>);
    const { assets, total } = await searchAssets(deps, caller.environment.id, search);
    return {
      data: assets.map((view) => ({
        ...serializeAsset(view),
        // Images of other playback IDs require a signed token.
        poster_playback_id: view.playbackIds.find(({ policy }) => policy === 'public')?.id ?? null,
      })),
      total_row_count: total,
    };
  });
};
