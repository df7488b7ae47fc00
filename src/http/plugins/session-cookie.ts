import type { FastifyReply, FastifyRequest } from 'fastify';
import { MAX_SESSION_MS } from '../../domain/access/sessions.js';

/** The secret of the session that the browser sends; undefined without one. */
export const readSessionCookie = ({ headers }: Pick<FastifyRequest, 'headers'>, name: string): string | undefined => {
  const pair = headers.cookie?.split(/;\s*/).find((part) => part.startsWith(`${name}=`));
  return /^[A-Za-z0-9_-]+$/.exec(pair?.slice(name.length + 1) ?? '')?.[0];
};

/**
 * True when the browser uses HTTPS: seen by this server, told by a trusted proxy, or known from the public URL when the
 * proxy is not trusted.
 */
const isHttps = (request: FastifyRequest, apiUrl: string): boolean => {
  const { protocol, host } = new URL(apiUrl);
  return request.protocol === 'https' || (protocol === 'https:' && request.host === host);
};

interface CookieContext {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Of the cookie. */
  readonly name: string;
  readonly apiUrl: string;
}

const setCookie = ({ request, reply, name, apiUrl }: CookieContext, value: string, seconds: number): void => {
  const secure = isHttps(request, apiUrl) ? '; Secure' : '';
  // For the whole server, because the session is also accepted by the API.
  const cookie = `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
  void reply.header('set-cookie', cookie);
};

export const setSessionCookie = (context: CookieContext, secret: string): void =>
  setCookie(context, secret, MAX_SESSION_MS / 1000);

export const removeSessionCookie = (context: CookieContext): void => setCookie(context, '', 0);
