import { type Operation, operations, pathWith } from '../../api/operations.js';

/**
 * Everything below these belongs to the API, whether it exists or not; the rest belongs to playback. A slash or dot
 * segment too many, an encoded slash or another case leads nowhere, yet whoever wrote it reads answers of the API.
 */
const API_PATH = /^(?:\/\.{0,2})*\/(?:video|system|robots|data)(?:\/|$)/i;

/** The path of a request target, without the query. */
export const pathOf = (url: string): string => url.split('?', 1)[0]!;

/** The path as the router reads it, which also knows the absolute form (RFC 9112, 3.2.2) and undoes percent-encoding. */
export const routedPath = (url: string): string => {
  const given = pathOf(url);
  if (given.startsWith('/') && !given.includes('%')) return given;
  const path = given.replace(/^https?:\/\/[^/]*/i, '');
  try {
    return decodeURI(path);
  } catch {
    // No valid encoding: the router refuses it, as what it looks like.
    return path;
  }
};

export const isApiPath = (url: string): boolean => API_PATH.test(routedPath(url).replaceAll(/%2f/gi, '/'));

const patterns = Object.values<Operation>(operations).map((operation) => ({
  method: operation.method,
  pattern: new RegExp(`^${pathWith(operation, (_, values) => (values ? `(?:${values.join('|')})` : '[^/]+'))}/?$`),
}));

/** The methods that the path of a request target answers, for the `Allow` header; empty for an unknown path. */
export const allowedMethods = (url: string): string[] => {
  const path = routedPath(url);
  const methods: string[] = patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
  return methods.includes('GET') ? [...methods, 'HEAD'] : methods;
};
