import type { FastifyRequest } from 'fastify';

const ALLOWED_HEADERS = ['Content-Type', 'Content-Range'];
const MAX_AGE_SECONDS = 3600;

/**
 * The headers of every response at an upload URL, including errors. Pages from an origin other than
 * the upload's get none, so their browser hides the response from them; the bytes are accepted
 * anyway.
 */
export const corsHeaders = (
  corsOrigin: string,
  origin: string | undefined,
  exposedHeaders: string,
): Record<string, string> => {
  const exposed = { 'access-control-expose-headers': exposedHeaders };
  if (corsOrigin === '*') return { 'access-control-allow-origin': '*', ...exposed };
  const vary = { vary: 'Origin' };
  if (origin === undefined) return { ...vary, ...exposed };
  if (!isSameOrigin(corsOrigin, origin)) return vary;
  return { ...vary, 'access-control-allow-origin': origin, ...exposed };
};

/**
 * Additional headers for `OPTIONS`.
 * @param request the headers of the preflight
 */
export const preflightHeaders = (request: FastifyRequest['headers'], methods: string): Record<string, string> => {
  const names = (request['access-control-request-headers'] ?? '').split(',').map((name) => name.trim());
  const others = names.filter(
    (name) => name !== '' && !ALLOWED_HEADERS.some((allowedName) => equal(allowedName, name)),
  );
  return {
    'access-control-allow-methods': methods,
    'access-control-allow-headers': [...ALLOWED_HEADERS, ...others].join(', '),
    'access-control-max-age': String(MAX_AGE_SECONDS),
    // A page on the internet may send to a server in the local network: it was given the URL, which
    // is a secret.
    ...(request['access-control-request-private-network'] === 'true' && {
      'access-control-allow-private-network': 'true',
    }),
  };
};

const equal = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

/** Compares scheme, host and port; an allowed origin that is a bare host matches any scheme. */
const isSameOrigin = (allowed: string, origin: string): boolean => {
  const bare = !allowed.includes('://');
  const partOf = (text: string): string => (URL.canParse(text) ? new URL(text)[bare ? 'host' : 'origin'] : '');
  const wantedParts = bare ? partOf(`${origin.split('://', 1)[0]}://${allowed}`) : partOf(allowed);
  return allowed === origin || (wantedParts !== '' && wantedParts !== 'null' && wantedParts === partOf(origin));
};
