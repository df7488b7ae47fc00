import type { FastifyReply, FastifyRequest } from 'fastify';
import { MAX_SESSION_MS } from '../../domain/access/sessions.js';

const COOKIE = /(?:^|;)\s*kinora_session=([A-Za-z0-9_-]+)/;

/** The secret of the session that the browser sends; undefined without one. */
export const readSessionCookie = ({ headers }: Pick<FastifyRequest, 'headers'>): string | undefined =>
  COOKIE.exec(headers.cookie ?? '')?.[1];

/**
 * True when the browser uses HTTPS: seen by this server, told by a trusted proxy, or known from the public URL when the
 * proxy is not trusted.
 */
const isHttps = (request: FastifyRequest, apiUrl: string): boolean => {
  const { protocol, host } = new URL(apiUrl);
  return request.protocol === 'https' || (protocol === 'https:' && request.host === host);
};

const setCookie = (request: FastifyRequest, reply: FastifyReply, apiUrl: string, value: string, seconds: number) => {
  const secure = isHttps(request, apiUrl) ? '; Secure' : '';
  // For the whole server, because the session is also accepted by the API.
  const cookie = `kinora_session=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
  void reply.header('set-cookie', cookie);
};

export const setSessionCookie = (request: FastifyRequest, reply: FastifyReply, apiUrl: string, secret: string): void =>
  setCookie(request, reply, apiUrl, secret, MAX_SESSION_MS / 1000);

export const removeSessionCookie = (request: FastifyRequest, reply: FastifyReply, apiUrl: string): void =>
  setCookie(request, reply, apiUrl, '', 0);
