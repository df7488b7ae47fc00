import type { FastifyPluginAsync } from 'fastify';
import { sendText } from '../../http/stream/send-text.js';
import { acceptViewers } from '../../http/stream/viewer-routes.js';
import { lastOf } from '../../lib/last-of.js';
import { openResult, type ResultSources } from '../jobs/open-result.js';

/** The URLs expire, and their files may be removed at any time. */
const CACHE_CONTROL = 'private, max-age=60';

/** Routes for the files of results, which have signed URLs. */
export const resultFileRoutes = (sources: ResultSources): FastifyPluginAsync => {
  return async (app) => {
    const route = acceptViewers(app);

    route<{ assetId: string; file: string }>('/artifacts/robots/:assetId/:file', async (request, reply) => {
      reply.header('cache-control', 'private, no-cache');
      const [expires, signature] = [lastOf(request.query.expires), lastOf(request.query.sig)];
      const { bytes, contentType, name } = await openResult(sources, { ...request.params, expires, signature });
      reply.headers({ 'cache-control': CACHE_CONTROL, 'content-disposition': `attachment; filename="${name}"` });
      return sendText(request, reply, contentType, bytes.toString());
    });
  };
};
