import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type ApiPart, joinApiParts } from '../api/openapi/api-part.js';
import { coreApi } from '../api/openapi/core-api.js';
import { createAuthenticate } from '../domain/access/authenticate.js';
import { Sessions } from '../domain/access/sessions.js';
import { KinoraError } from '../lib/errors.js';
import type { AppDeps } from './app-deps.js';
import { consoleRoutes } from './console/console-routes.js';
import { whipRoutes } from './live/whip-routes.js';
import { healthRoutes } from './ops/health.js';
import { openApiRoutes } from './ops/openapi.js';
import { welcomeRoutes } from './ops/welcome.js';
import { allowedMethods, isApiPath } from './plugins/api-paths.js';
import { createHttpApp } from './plugins/create-http-app.js';
import { createIdentifyCaller } from './plugins/find-session.js';
import { readJsonBody } from './plugins/json-body.js';
import { rejectHost } from './plugins/malformed-requests.js';
import { measureRequests } from './plugins/measure-requests.js';
import { operationRoutes } from './plugins/operation-route.js';
import { findPageCalls } from './plugins/page-calls.js';
import { createRateLimit } from './plugins/rate-limit.js';
import { discardUnread, limitReceiving, limitStall, responseExpectations } from './plugins/receive-limit.js';
import { logRequests } from './plugins/request-log.js';
import { unknownOperation } from './plugins/unknown-operation.js';
import { sendError } from './send-error.js';
import { usePartBuffers } from './stream/part-buffers.js';
import { eventRoutes } from './system/events.js';
import { signingKeyRoutes } from './system/signing-keys.js';
import { usageExportRoutes } from './system/usage-exports.js';
import { webhookRoutes } from './system/webhooks.js';
import { whoamiRoutes } from './system/whoami.js';
import { FILE_PREFIXES, uploadAddress } from './upload/upload-address.js';
import { assetRoutes } from './video/assets.js';
import { deliveryBudgetRoutes } from './video/delivery-budgets.js';
import { deliveryUsageRoutes } from './video/delivery-usage.js';
import { drmConfigurationRoutes } from './video/drm-configurations.js';
import { liveStreamRoutes } from './video/live-streams.js';
import { masterAndShotsRoutes } from './video/master-and-shots.js';
import { playbackIdRoutes } from './video/playback-ids.js';
import { playbackRestrictionRoutes } from './video/playback-restrictions.js';
import { staticRenditionRoutes } from './video/static-renditions.js';
import { trackRoutes } from './video/tracks.js';
import { uploadRoutes } from './video/uploads.js';
import { vocabularyRoutes } from './video/vocabularies.js';

const BODY_LIMIT_BYTES = 1024 * 1024;
/** For receiving a request, not for answering it. */
const REQUEST_TIMEOUT_MS = 60_000;

/** Creates an app with every HTTP route; it does not listen itself. */
export const createApp = (deps: AppDeps): FastifyInstance => {
  const does = (role: string): boolean => deps.roles?.has(role) ?? true;
  const api = joinApiParts(coreApi, ...(deps.apiExtensions ?? []).map(({ api }) => api));
  const methodsOf = allowedMethods(api.operations);
  const send = (error: unknown, request: FastifyRequest, reply: FastifyReply) =>
    sendError(error, request, reply, isPageCall(request));
  const sendNotFound = (request: FastifyRequest, reply: FastifyReply) =>
    send(unknownOperation(request), request, reply);
  const app = createHttpApp(deps, BODY_LIMIT_BYTES, sendNotFound);
  const isPageCall = findPageCalls(app);
  app.setErrorHandler(send);
  app.setNotFoundHandler(sendNotFound);

  logRequests(app, deps.logger);
  if (deps.metrics) measureRequests(app, deps.metrics);
  // Unknown API paths are answered here: before credentials are checked, before a body is read, and
  // before a playback route, whose parameters would match them.
  app.addHook('onRequest', (request, reply, done) => {
    if (rejectHost(request, reply)) return;
    const ofApi = isApiPath(request.url);
    if (isPageCall(request)) {
      reply.header('Allow', 'GET, HEAD');
      throw new KinoraError('method_not_allowed');
    }
    if (request.is404 && !ofApi) throw unknownOperation(request);
    if (!ofApi || request.routeOptions.config.operation) return done();
    if (!does('api')) throw new KinoraError('not_found');
    const allowed = methodsOf(request.url);
    if (allowed.length === 0) throw unknownOperation(request);
    reply.header('Allow', allowed.join(', '));
    throw new KinoraError('method_not_allowed');
  });
  limitReceiving(app, REQUEST_TIMEOUT_MS);
  discardUnread(app);
  app.addHook('onSend', (_, reply, _payload, done) => {
    limitStall(reply.raw);
    done();
  });
  responseExpectations(app, FILE_PREFIXES);
  usePartBuffers(app);
  readJsonBody(app);

  if (does('api')) apiRoutes(app, api, deps);
  healthRoutes(app, deps);
  if (does('upload')) app.register(uploadAddress({ ...deps.uploads, database: deps.database }));
  if (deps.whip) app.register(whipRoutes(deps.whip, deps.owners));
  if (does('stream') && deps.streamPlugin) app.register(deps.streamPlugin);
  return app;
};

/** The API, its description, and the console. */
const apiRoutes = (app: FastifyInstance, api: ApiPart, deps: AppDeps): void => {
  const limitRate = createRateLimit(deps.rateLimits ?? {}, deps.clock);
  const authenticate = createAuthenticate(deps.database, deps.clock);
  const sessions = new Sessions(deps.database, deps.clock, {
    name: deps.sessionCookie,
    apiUrl: deps.apiUrl,
  });
  const identifyCaller = createIdentifyCaller(authenticate, sessions);
  const route = operationRoutes(app, api, { identifyCaller, limitRate, strictFields: deps.strictFields ?? false });
  assetRoutes(route, deps);
  playbackIdRoutes(route, deps);
  masterAndShotsRoutes(route, deps);
  trackRoutes(route, deps);
  staticRenditionRoutes(route, deps);
  signingKeyRoutes(route, deps);
  playbackRestrictionRoutes(route, deps);
  deliveryBudgetRoutes(route, deps);
  uploadRoutes(route, deps, deps.uploads);
  liveStreamRoutes(route, deps);
  vocabularyRoutes(route, deps);
  drmConfigurationRoutes(route, deps);
  deliveryUsageRoutes(route, deps);
  usageExportRoutes(route);
  for (const { addRoutes } of deps.apiExtensions ?? []) addRoutes(route);
  whoamiRoutes(route);
  webhookRoutes(route, deps);
  eventRoutes(route, deps);
  openApiRoutes(app, api);
  welcomeRoutes(app);
  app.register(consoleRoutes({ ...deps, sessions }, authenticate));
};
