import { type ParsedUrlQuery, parse } from 'node:querystring';

/**
 * Parses the query of a request. NUL becomes U+FFFD: databases can't store NUL in text, and no
 * stored value contains U+FFFD, so a filter with it matches nothing. The number of parameters is
 * not limited, because the request line is.
 */
export const parseQuery = (query: string): ParsedUrlQuery =>
  parse(query.replaceAll('%00', '%EF%BF%BD'), undefined, undefined, { maxKeys: 0 });
