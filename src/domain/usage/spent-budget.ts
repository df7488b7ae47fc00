import { KinoraError } from '../../lib/errors.js';

/** Playlists list no more lines than this while a budget that steps down is spent. */
export const STEPPED_DOWN_LINES = 480;

/** Playback has stopped until the budget's period ends, or the budget is raised or deleted. */
export const budgetSpent = (): KinoraError =>
  new KinoraError('forbidden', { messages: ['The delivery budget is spent'] });
