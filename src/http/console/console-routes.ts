import type { FastifyInstance, FastifyPluginAsync } from 'fastify';
import type { Authenticate } from '../../domain/access/authenticate.js';
import { KinoraError } from '../../lib/errors.js';
import { errorHeaders, toKinoraError } from '../plugins/errors.js';
import { createIdentifyCaller } from '../plugins/find-session.js';
import { logFailure } from '../plugins/log-failure.js';
import { accessRoutes } from './access-routes.js';
import { consoleAssetRoutes } from './asset-routes.js';
import type { ConsoleDeps } from './console-deps.js';
import { consoleFiles } from './console-files.js';
import { drmRoutes } from './drm-routes.js';
import { consoleLiveRoutes } from './live-routes.js';
import { operationsRoute } from './operations-route.js';
import { sessionRoutes } from './session-routes.js';
import { streamRoutes } from './stream-routes.js';
import { textTrackRoutes } from './text-track-routes.js';

/** The console: the files of its app, and what the app needs beyond the API. */
export const consoleRoutes =
  (deps: ConsoleDeps, authenticate: Authenticate): FastifyPluginAsync =>
  async (app) => {
    app.register(consoleCalls(deps, authenticate), { prefix: '/console/api' });
    app.register(consoleFiles(deps), { prefix: '/console' });
  };

const consoleCalls =
  (deps: ConsoleDeps, authenticate: Authenticate): FastifyPluginAsync =>
  async (app) => {
    app.addHook('onRequest', async (_, reply) => {
      reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
    });
    responseErrors(app);
    const streams = await streamRoutes(app, deps);
    sessionRoutes(app, deps, authenticate, streams);
    accessRoutes(app, deps);
    drmRoutes(app, deps);
    operationsRoute(app, deps);
    const identify = createIdentifyCaller(authenticate, deps.sessions);
    consoleAssetRoutes(app, deps, identify);
    consoleLiveRoutes(app, deps, identify);
    app.register(textTrackRoutes(deps));
    app.all('/*', () => {
      throw new KinoraError('not_found');
    });
  };

/** Every failure has the API's error body, and its request ID is in a header as everywhere. */
const responseErrors = (app: FastifyInstance): void => {
  app.setErrorHandler((error, request, reply) => {
    const shown = toKinoraError(error);
    logFailure(request.log, error, shown.status);
    return reply
      .code(shown.status)
      .headers({ ...errorHeaders(shown), ...reply.getHeaders() } as Record<string, string>)
      .send({ error: { type: shown.type, messages: shown.messages } });
  });
};
