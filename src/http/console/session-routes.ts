import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Authenticate } from '../../domain/access/authenticate.js';
import type { Session } from '../../domain/access/sessions.js';
import { invalidParameters, isKinoraError, KinoraError } from '../../lib/errors.js';
import { createTokenBuckets } from '../../lib/token-bucket.js';
import { kinoraVersion } from '../../lib/version.js';
import { findSession } from '../plugins/find-session.js';
import { removeSessionCookie, setSessionCookie } from '../plugins/session-cookie.js';
import type { ChangeStreams } from './change-streams.js';
import type { ConsoleDeps } from './console-deps.js';
import { readFields } from './read-fields.js';

/** For one client address: ten attempts at once, then one every six seconds. */
const ATTEMPTS = { burst: 10, perSecond: 1 / 6 };

/** Signing in and out, and the environment that a session works in. */
export const sessionRoutes = (
  app: FastifyInstance,
  deps: ConsoleDeps,
  authenticate: Authenticate,
  streams: ChangeStreams,
): void => {
  const { sessions, clock, logger, apiUrl } = deps;
  const takeAttempt = createTokenBuckets(ATTEMPTS, clock);
  const version = kinoraVersion();

  const response = ({ caller, csrfToken, expiresAt, canAdminister }: Session): object => ({
    environment: { id: caller.environment.id, name: caller.environment.name, type: caller.environment.type },
    permissions: caller.permissions,
    csrf_token: csrfToken,
    expires_at: expiresAt.toISOString(),
    version,
    can_administer: canAdminister,
    api_url: apiUrl(),
    stream_url: deps.streamUrl ?? apiUrl(),
    image_url: deps.imageUrl ?? apiUrl(),
    data_host: deps.dataHost ?? new URL(deps.streamUrl ?? apiUrl()).host,
  });

  const open = async (body: unknown): Promise<string> => {
    const { link, token_id: id, token_secret: secret } = readFields(body, ['link', 'token_id', 'token_secret']);
    if (link !== undefined) return sessions.openWithLink(link);
    if (id === undefined || secret === undefined) {
      throw invalidParameters('link, or token_id and token_secret, are required.');
    }
    const caller = await authenticate({ id, secret }).catch((error: unknown) => {
      if (!isKinoraError(error, 'unauthorized')) throw error;
      const messages = ['The token ID or the secret is wrong, or the token was revoked or has expired.'];
      throw new KinoraError('unauthorized', { messages });
    });
    return sessions.openWithToken(caller);
  };

  app.post('/session', async (request, reply) => {
    rejectOtherSites(request);
    if (!takeAttempt(request.ip)) {
      void reply.header('retry-after', String(1 / ATTEMPTS.perSecond));
      const messages = ['There were too many attempts to sign in. Try again in a few seconds.'];
      throw new KinoraError('too_many_requests', { messages });
    }
    let secret: string;
    try {
      secret = await open(request.body);
    } catch (error) {
      if (isKinoraError(error, 'unauthorized')) logger.warn({ remote_address: request.ip }, 'console sign-in refused');
      throw error;
    }
    const session = await sessions.get(secret);
    logger.info({ remote_address: request.ip, token_id: session.caller.tokenId }, 'console sign-in');
    setSessionCookie(request, reply, sessions.cookie, secret);
    return reply.code(201).send(response(session));
  });

  app.get('/session', async (request) => response(await findSession(request, sessions)));

  app.patch('/session', async (request) => {
    const session = await findSession(request, sessions);
    const { environment_id: environmentId } = readFields(request.body, ['environment_id']);
    if (environmentId === undefined) throw invalidParameters('environment_id is required.');
    await sessions.switchEnvironment(session, environmentId);
    streams.closeSession(session.key);
    return response(await findSession(request, sessions));
  });

  app.delete('/session', async (request, reply) => {
    const session = await findSession(request, sessions);
    await sessions.end(session);
    streams.closeSession(session.key);
    removeSessionCookie(request, reply, sessions.cookie);
    return reply.code(204).send();
  });
};

/** Another site must not sign a visitor in as somebody else; only browsers send this header. */
const rejectOtherSites = ({ headers }: FastifyRequest): void => {
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return;
  throw new KinoraError('forbidden', { messages: ['Only the console itself may sign in.'] });
};
