import type { FastifyInstance } from 'fastify';
import { serializeAsset } from '../../api/responses/asset.js';
import { getAsset } from '../../domain/asset-view/get-asset.js';
import { getAssetMedia } from '../../domain/assets/asset-media.js';
import { getAssetProblem, retryAsset } from '../../domain/assets/asset-problem.js';
import { getTitles, searchAssets } from '../../domain/assets/search-assets.js';
import { readAv1Savings } from '../../domain/usage/av1-savings.js';
import { lastOf } from '../../lib/last-of.js';
import { findSession, type IdentifyCaller } from '../plugins/find-session.js';
import type { ConsoleDeps } from './console-deps.js';
import { readAssetSearch } from './read-asset-search.js';
import { requirePermission } from './require-permission.js';

/** Of assets whose titles are asked for at once. */
const MAX_TITLES = 100;

type WithId = { Params: { id: string } };

/** The list of assets with filters, orders and a total; failures and retries. */
export const consoleAssetRoutes = (app: FastifyInstance, deps: ConsoleDeps, identify: IdentifyCaller): void => {
  // With an access token too, for `kinora asset list`.
  app.get('/assets', async (request) => {
    const caller = await identify(request);
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

  app.get('/titles', async (request) => {
    const { caller } = await findSession(request, deps.sessions);
    requirePermission(caller, 'video:read');
    const ids = (lastOf((request.query as { ids?: unknown }).ids) ?? '').split(',').slice(0, MAX_TITLES);
    return { data: await getTitles(deps, caller.environment.id, ids) };
  });

  app.get<WithId>('/assets/:id/media', async (request) => {
    const { caller } = await findSession(request, deps.sessions);
    requirePermission(caller, 'video:read');
    const media = await getAssetMedia(deps, caller.environment.id, request.params.id);
    return {
      data: {
        container: media.container,
        size_bytes: media.sizeBytes,
        bit_rate: media.bitRate ?? null,
        video_codec: media.videoCodec ?? null,
        audio_codec: media.audioCodec ?? null,
        renditions: media.renditions.map(({ isCopy, ...rendition }) => ({ ...rendition, is_copy: isCopy })),
      },
    };
  });

  app.get<WithId>('/assets/:id/av1', async (request) => {
    const { caller } = await findSession(request, deps.sessions);
    requirePermission(caller, 'video:read');
    const { asset } = await getAsset(deps, caller.environment.id, request.params.id);
    const { bytes, savedBytes } = await readAv1Savings(deps.database.queryable, deps.clock, asset.id);
    return { data: { delivered_bytes: bytes, saved_bytes: savedBytes } };
  });

  // Elsewhere only events include them.
  app.get<WithId>('/assets/:id/track-errors', async (request) => {
    const { caller } = await findSession(request, deps.sessions);
    requirePermission(caller, 'video:read');
    const { tracks } = await getAsset(deps, caller.environment.id, request.params.id);
    return { data: Object.fromEntries(tracks.flatMap(({ id, error }) => (error ? [[id, error]] : []))) };
  });

  app.get<WithId>('/assets/:id/problem', async (request) => {
    const { caller, canAdminister } = await findSession(request, deps.sessions);
    requirePermission(caller, 'video:read');
    const problem = await getAssetProblem(deps, caller.environment.id, request.params.id);
    return {
      sentence: problem.sentence,
      stage: problem.stage ?? null,
      request_id: problem.requestId ?? null,
      occurred_at: problem.occurredAt?.toISOString() ?? null,
      job_id: problem.operator?.jobId ?? null,
      // It may name files and addresses of the server.
      details: (canAdminister && problem.operator?.detail) || null,
      input_url: problem.inputUrl ?? null,
      can_retry: problem.canRetry,
    };
  });

  app.post<WithId>('/assets/:id/retry', async (request, reply) => {
    const { caller } = await findSession(request, deps.sessions);
    requirePermission(caller, 'video:write');
    const view = await retryAsset(deps, caller.environment.id, request.params.id, request.id);
    return reply.code(201).send({ data: serializeAsset(view) });
  });
};
