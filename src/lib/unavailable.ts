import { isDatabaseUnavailable } from './database-unavailable.js';
import { isKinoraError } from './errors.js';
import { isNoSpace } from './no-space.js';

/** Whether a failure says nothing about what was asked: it succeeds once the database or the disk works again. */
export const isUnavailable = (error: unknown): boolean =>
  isKinoraError(error, 'unavailable') || isDatabaseUnavailable(error) || isNoSpace(error);
