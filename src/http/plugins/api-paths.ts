import { operations } from '../../api/operations.js';

/** Everything below these belongs to the API, whether it exists or not; the rest belongs to playback. */
const API_PATH = /^\/(?:video|system|robots|data)(?:\/|$)/;

/** The path of a request target, without the query. */
export const pathOf = (url: string): string => url.split('?', 1)[0]!;

export const isApiPath = (path: string): boolean => API_PATH.test(path);

const patterns = Object.values(operations).map(({ method, path }) => ({
  method,
  pattern: new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}/?$`),
}));

/** The methods that a path answers, for the `Allow` header; empty for an unknown path. */
export const allowedMethods = (path: string): string[] => {
  const methods: string[] = patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
  return methods.includes('GET') ? [...methods, 'HEAD'] : methods;
};
