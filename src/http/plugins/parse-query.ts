import { type ParsedUrlQuery, parse } from 'node:querystring';

/**
 * Reads the query of a request. NUL becomes U+FFFD: no database takes it in a text, and nothing that is stored has it, so
 * that a filter with it matches nothing. Every parameter counts, however many there are: a request line is bounded.
 */
export const parseQuery = (query: string): ParsedUrlQuery =>
  parse(query.replaceAll('%00', '%EF%BF%BD'), undefined, undefined, { maxKeys: 0 });
