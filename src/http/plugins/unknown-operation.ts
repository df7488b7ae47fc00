import type { FastifyRequest } from 'fastify';
import { KinoraError } from '../../lib/errors.js';
import { pathOf, routedPath } from './api-paths.js';

/** Parts of the Mux API that clients know and Kinora does not have. */
const ABSENT: readonly (readonly [path: RegExp, what: string])[] = [
  [/^\/video\/v1\/web-inputs(?:\/|$)/, 'web inputs'],
  [/^\/video\/v1\/spaces(?:\/|$)/, 'spaces'],
  [/^\/data\/v1\/incidents(?:\/|$)/, 'incidents: it does not watch for anomalies'],
  [/^\/data\/v1\/subview-metrics(?:\/|$)/, 'metrics of parts of a view'],
  [/^\/system\/v1\/utilities(?:\/|$)/, 'utilities for webhooks of Mux'],
];

const MAX_PATH_CHARACTERS = 100;

const shorten = (path: string): string => {
  const characters = [...path];
  return characters.length > MAX_PATH_CHARACTERS ? `${characters.slice(0, MAX_PATH_CHARACTERS).join('')}…` : path;
};

/**
 * The failure of a request that no operation answers: it says which one is missing, and where all
 * are listed.
 */
export const unknownOperation = ({ method, url }: Pick<FastifyRequest, 'method' | 'url'>): KinoraError => {
  const path = routedPath(url);
  const [, what] = ABSENT.find(([pattern]) => pattern.test(path)) ?? [];
  const why = what === undefined ? '' : ` Kinora has no ${what}.`;
  const messages = [`There is no operation ${method} ${shorten(pathOf(url))}.${why} See /docs for all operations.`];
  return new KinoraError('not_found', { messages });
};
