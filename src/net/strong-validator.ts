import type { GuardedResponse } from './guarded-get.js';

const MINIMUM_AGE_MS = 1000;

/**
 * The value for If-Range: a strong entity tag, or a date that is old enough to be a strong
 * validator (RFC 9110 8.8.2.2).
 */
export const strongValidator = (response: Pick<GuardedResponse, 'header'>): string | undefined => {
  const etag = response.header('etag');
  if (etag?.startsWith('"')) return etag;
  const modified = response.header('last-modified');
  const ageMs = Date.parse(response.header('date') ?? '') - Date.parse(modified ?? '');
  return ageMs >= MINIMUM_AGE_MS ? modified : undefined;
};
