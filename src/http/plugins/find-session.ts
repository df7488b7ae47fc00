import type { FastifyRequest } from 'fastify';
import type { Authenticate, Caller } from '../../domain/access/authenticate.js';
import { isCsrfToken, type Session, type Sessions } from '../../domain/access/sessions.js';
import { KinoraError } from '../../lib/errors.js';
import { isReading } from './reading-methods.js';
import { readSessionCookie } from './session-cookie.js';

/**
 * The session of a request. A request that changes something must carry the session's token in a
 * header, which pages of other origins can't set: cookies are also sent by pages on other ports of
 * this host.
 * @throws KinoraError `unauthorized`; `forbidden` without the token
 */
export const findSession = async (request: FastifyRequest, sessions: Sessions): Promise<Session> => {
  const secret = readSessionCookie(request, sessions.cookie);
  if (secret === undefined) {
    throw new KinoraError('unauthorized', { messages: ['Sign in to the console first.'] });
  }
  const session = await sessions.get(secret);
  const csrfToken = request.headers['x-csrf-token'];
  if (!isReading(request.method) && !isCsrfToken(session, typeof csrfToken === 'string' ? csrfToken : undefined)) {
    const messages = ['The X-CSRF-Token header is missing or wrong. Reload the page.'];
    throw new KinoraError('forbidden', { messages });
  }
  return session;
};

/** Finds out who makes a request to the API. @throws KinoraError `unauthorized`, `forbidden` */
export type IdentifyCaller = (request: FastifyRequest) => Promise<Caller>;

/**
 * Accepts a token or a session of the console; with an `Authorization` header, the cookie is
 * ignored.
 */
export const createIdentifyCaller =
  (authenticate: Authenticate, sessions: Sessions): IdentifyCaller =>
  async (request) => {
    const { authorization } = request.headers;
    const hasSession = authorization === undefined && readSessionCookie(request, sessions.cookie) !== undefined;
    return hasSession ? (await findSession(request, sessions)).caller : authenticate(authorization);
  };
