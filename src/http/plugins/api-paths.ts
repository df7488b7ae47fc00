import { type Operation, pathWith } from '../../api/operations.js';

/**
 * Everything below these paths belongs to the API, whether it exists or not; the rest belongs to
 * playback. A path with an extra slash or dot segment, an encoded slash or different case is not
 * found, but still gets API responses.
 */
const API_PATH = /^(?:\/\.{0,2})*\/(?:video|system|robots|data)(?:[/?]|$)/i;

/** The path of a request target, without the query. */
export const pathOf = (url: string): string => {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
};

/** Neither absolute nor percent-encoded, like almost all request targets. */
const isPlain = (url: string): boolean => url.startsWith('/') && !url.includes('%');

/**
 * The path as the router sees it; the router also accepts the absolute form (RFC 9112, 3.2.2) and
 * decodes percent-encoding.
 */
export const routedPath = (url: string): string => {
  const requestPath = pathOf(url);
  if (isPlain(requestPath)) return requestPath;
  const path = requestPath.replace(/^https?:\/\/[^/]*/i, '');
  try {
    return decodeURI(path);
  } catch {
    // Invalid encoding: the router refuses it by its literal prefix.
    return path;
  }
};

export const isApiPath = (url: string): boolean =>
  API_PATH.test(isPlain(url) ? url : routedPath(url).replaceAll(/%2f/gi, '/'));

/**
 * Returns a function that finds the methods of a path, for the `Allow` header; none for an unknown
 * path.
 */
export const allowedMethods = (operations: Readonly<Record<string, Operation>>): ((url: string) => string[]) => {
  const patterns = Object.values(operations).map((operation) => ({
    method: operation.method,
    pattern: new RegExp(`^${pathWith(operation, (_, values) => (values ? `(?:${values.join('|')})` : '[^/]+'))}/?$`),
  }));
  return (url) => {
    const path = routedPath(url);
    const methods: string[] = patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
    return methods.includes('GET') ? [...methods, 'HEAD'] : methods;
  };
};
