import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { AssetKeys, ContentKeys } from '../../domain/drm/content-keys.js';
import { clearKeyLicense, fairplayCertificate, forwardChallenge, isLicensedSystem } from '../../domain/drm/license.js';
import type { AccessCheck } from '../../domain/playback/access-check.js';
import type { PlayableFinder } from '../../domain/playback/playable-finder.js';
import type { BudgetLimits } from '../../domain/usage/budget-limits.js';
import { budgetSpent } from '../../domain/usage/spent-budget.js';
import { invalidParameters, KinoraError } from '../../lib/errors.js';
import { lastOf } from '../../lib/last-of.js';
import type { ServiceCaller } from '../../net/call-service.js';
import { accessRequest, notReady } from './playback-opener.js';
import type { Query } from './viewer-routes.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Clients post to these URLs but are viewers, so a missing resource is reported in the viewers'
     * format.
     */
    takesChallenges?: boolean;
  }
}

export interface LicenseDeps {
  readonly playables: Pick<PlayableFinder, 'find'>;
  readonly access: Pick<AccessCheck, 'check'>;
  readonly contentKeys: Pick<ContentKeys, 'get'>;
  readonly services: ServiceCaller;
  readonly budgets: Pick<BudgetLimits, 'of'>;
}

/** Challenges have a few KiB. */
const MAX_CHALLENGE_BYTES = 64 * 1024;
const CORS = { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'Content-Length' };

type Request<P> = FastifyRequest<{ Params: P; Querystring: Query; Body: Buffer | undefined }>;
type Handler<P> = (request: Request<P>, reply: FastifyReply) => Promise<unknown>;

/** What players request before they can decrypt: licenses, and the FairPlay certificate. */
export const licenseRoutes = ({
  playables,
  access,
  contentKeys,
  services,
  budgets,
}: LicenseDeps): FastifyPluginAsync => {
  const openLicense = async (request: FastifyRequest, playbackId: string): Promise<AssetKeys> => {
    const playable = await playables.find(playbackId);
    if (!playable) throw new KinoraError('not_found');
    const { drmConfigurationId } = playable;
    if (drmConfigurationId === undefined) throw invalidParameters('Playback ID does not use DRM');
    const viewer = accessRequest(request);
    if (!lastOf(viewer.query.token)) throw invalidParameters('Token is missing');
    await access.check(playable, viewer, 'd');
    if (budgets.of(playable) === 'stop') throw budgetSpent();
    // A live stream has keys only while an asset is recorded.
    if (playable.status !== 'ready' || !(playable.plan ?? playable.live)) throw notReady(playable);
    return contentKeys.get(drmConfigurationId, playable.assetId);
  };

  return async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser(
      '*',
      { parseAs: 'buffer', bodyLimit: MAX_CHALLENGE_BYTES },
      async (_: unknown, body: Buffer) => body,
    );

    const route = <P>(url: string, methods: string, handler: Handler<P>): void => {
      app.route<{ Params: P; Querystring: Query; Body: Buffer | undefined }>({
        method: ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'],
        url,
        exposeHeadRoute: false,
        config: { takesChallenges: true },
        onRequest: async (request, reply) => {
          reply.headers({ ...CORS, 'cache-control': 'private, no-store' });
          if (request.method === 'OPTIONS') {
            const headers = { 'access-control-allow-methods': methods, 'access-control-allow-headers': '*' };
            return reply.code(204).headers(headers).header('access-control-max-age', 86_400).send();
          }
          if (methods.split(', ').includes(request.method)) return;
          reply.header('allow', methods);
          throw new KinoraError('method_not_allowed');
        },
        handler,
      });
    };

    route<{ system: string; playbackId: string }>(
      '/license/:system/:playbackId',
      'POST, OPTIONS',
      async (request, reply) => {
        const { system, playbackId } = request.params;
        const isClearKey = system === 'clearkey';
        if (!isClearKey && !isLicensedSystem(system)) throw new KinoraError('not_found');
        const keys = await openLicense(request, playbackId);
        const challenge = request.body ?? Buffer.alloc(0);
        if (isClearKey) return reply.type('application/json').send(clearKeyLicense(keys, challenge));
        const { 'content-type': contentType, soapaction } = request.headers;
        const soapAction = lastOf(soapaction);
        const license = await forwardChallenge(services, keys, system, challenge, { contentType, soapAction });
        return reply.type('application/octet-stream').send(license);
      },
    );

    route<{ playbackId: string }>('/appcert/fairplay/:playbackId', 'GET, HEAD, OPTIONS', async (request, reply) => {
      const keys = await openLicense(request, request.params.playbackId);
      return reply.type('application/octet-stream').send(await fairplayCertificate(services, keys));
    });
  };
};
