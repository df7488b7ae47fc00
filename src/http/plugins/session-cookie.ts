import type { FastifyReply, FastifyRequest } from 'fastify';
import { MAX_SESSION_MS, type SessionCookie } from '../../domain/access/sessions.js';
import { KinoraError } from '../../lib/errors.js';

/**
 * The secret of the session that the browser sends; undefined without one. Pages of other hosts
 * below the same domain can set cookies that this host gets too, so of several the first may be an
 * attacker's: none is accepted.
 * @throws KinoraError `unauthorized` when there are several
 */
export const readSessionCookie = (
  request: Pick<FastifyRequest, 'headers' | 'protocol' | 'host'>,
  cookie: SessionCookie,
): string | undefined => {
  const { cookie: header } = request.headers;
  if (header === undefined) return undefined;
  const { name } = nameFor(request, cookie);
  const pairs = header.split(/;\s*/).filter((part) => part.startsWith(`${name}=`));
  if (new Set(pairs).size > 1) {
    const messages = [
      'The browser has several sessions of the console. Delete the cookies of this site, and sign in again.',
    ];
    throw new KinoraError('unauthorized', { messages });
  }
  return /^[A-Za-z0-9_-]+$/.exec(pairs[0]?.slice(name.length + 1) ?? '')?.[0];
};

/**
 * True when the browser uses HTTPS: seen by this server, told by a trusted proxy, or known from the
 * public URL when the proxy is not trusted.
 */
const isHttps = (request: Pick<FastifyRequest, 'protocol' | 'host'>, apiUrl: string): boolean => {
  const { protocol, host } = new URL(apiUrl);
  return request.protocol === 'https' || (protocol === 'https:' && request.host === host);
};

/**
 * Browsers take a cookie with this prefix from this host only, over HTTPS; no other host can set it
 * or be sent it.
 */
const HOST_PREFIX = '__Host-';

const nameFor = (
  request: Pick<FastifyRequest, 'protocol' | 'host'>,
  { name, apiUrl }: SessionCookie,
): { readonly name: string; readonly secure: boolean } => {
  const secure = isHttps(request, apiUrl());
  return { name: secure ? `${HOST_PREFIX}${name}` : name, secure };
};

const setCookie = (
  request: FastifyRequest,
  reply: FastifyReply,
  cookie: SessionCookie,
  content: { readonly value: string; readonly seconds: number },
): void => {
  const { name, secure } = nameFor(request, cookie);
  // For the whole server, because the session is also accepted by the API.
  const text = `${name}=${content.value}; Path=/; Max-Age=${content.seconds}; HttpOnly; SameSite=Strict`;
  void reply.header('set-cookie', secure ? `${text}; Secure` : text);
};

export const setSessionCookie = (
  request: FastifyRequest,
  reply: FastifyReply,
  cookie: SessionCookie,
  secret: string,
): void => setCookie(request, reply, cookie, { value: secret, seconds: MAX_SESSION_MS / 1000 });

export const removeSessionCookie = (request: FastifyRequest, reply: FastifyReply, cookie: SessionCookie): void =>
  setCookie(request, reply, cookie, { value: '', seconds: 0 });
