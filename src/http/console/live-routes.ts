import type { FastifyInstance, FastifyRequest } from 'fastify';
import { serializeLiveStream } from '../../api/responses/live-stream.js';
import { readPage } from '../../api/validate/list-query.js';
import type { LiveStreamView } from '../../domain/live/live-stream-view.js';
import { getLiveStream } from '../../domain/live/live-streams.js';
import { type LiveStreamSearch, listLiveWarnings, searchLiveStreams } from '../../domain/live/search-live-streams.js';
import { Problems } from '../../lib/problems.js';
import type { IdentifyCaller } from '../plugins/find-session.js';
import type { ConsoleDeps } from './console-deps.js';
import { readOneOf, readSearchText } from './read-search.js';
import { requirePermission } from './require-permission.js';

type WithId = { Params: { id: string } };

/** As in the API, and whether an encoder is connected and recorded, which only events tell. */
const serialize = (stream: LiveStreamView): object => ({
  ...serializeLiveStream(stream),
  connected: stream.connected,
  recording: stream.recording,
});

/** All that an encoder needs, in the form that most of them take. */
const srtUrlOf = (server: string, { stream_key: key, srt_passphrase: passphrase }: LiveStreamView): string =>
  `${server}?streamid=${encodeURIComponent(key)}&passphrase=${encodeURIComponent(passphrase)}`;

/**
 * The list of live streams with filters and a total; where encoders send, and what was wrong with
 * what they sent. With an access token too, for `kinora live`.
 */
export const consoleLiveRoutes = (app: FastifyInstance, deps: ConsoleDeps, identify: IdentifyCaller): void => {
  const readEnvironment = async (request: FastifyRequest): Promise<string> => {
    const caller = await identify(request);
    requirePermission(caller, 'video:read');
    return caller.environment.id;
  };

  app.get('/live-streams', async (request) => {
    const environmentId = await readEnvironment(request);
    const search = readLiveSearch(request.query as Record<string, unknown>);
    const { found, total } = await searchLiveStreams(deps, environmentId, search);
    return {
      data: found.map(({ stream, latestRecording: latest }) => ({
        ...serialize(stream),
        latest_recording: latest ? { id: latest.id, created_at: latest.createdAt.toISOString() } : null,
      })),
      total_row_count: total,
    };
  });

  app.get<WithId>('/live-streams/:id', async (request) => {
    const environmentId = await readEnvironment(request);
    const stream = await getLiveStream(deps, environmentId, request.params.id);
    const { hostname } = request;
    const srtServer = deps.srtServer?.(hostname);
    return {
      data: {
        ...serialize(stream),
        ingest_urls: deps.ingestUrls(hostname),
        ...(srtServer !== undefined && { srt_url: srtUrlOf(srtServer, stream) }),
      },
    };
  });

  app.get<WithId>('/live-streams/:id/warnings', async (request) => {
    const environmentId = await readEnvironment(request);
    const stream = await getLiveStream(deps, environmentId, request.params.id);
    const { assetId, warnings } = await listLiveWarnings(deps, stream);
    return {
      data: warnings.map(({ type, message, createdAt }) => ({ type, message, created_at: createdAt.toISOString() })),
      asset_id: assetId ?? null,
    };
  });
};

/** @throws KinoraError `invalid_parameters` */
const readLiveSearch = (query: Readonly<Record<string, unknown>>): LiveStreamSearch => {
  const problems = new Problems();
  const { limit, offset } = readPage(query, problems);
  const text = readSearchText(query, problems);
  const status = readOneOf(query, 'status', ['active', 'idle', 'disabled'], problems);
  problems.throwIfAny(query);
  return { limit, offset, text, status };
};
