import { KinoraError } from '../lib/errors.js';
import { refusals } from '../media/source/refusals.js';
import type { Outcome } from './media-process.js';
import type { MediaJob } from './protocol.js';

/** What the caller of a job is told when it did not succeed. */
export const jobFailure = ({ kind }: MediaJob, outcome: Exclude<Outcome, { type: 'done' }>): KinoraError => {
  if (outcome.type === 'crashed') {
    const details = { kind, reason: outcome.reason };
    // It would take as long again.
    if (outcome.overCpuLimit)
      return new KinoraError('invalid_input', {
        messages: [refusals.damagedBy('its index takes too much CPU time to read')],
        details,
      });
    return new KinoraError(outcome.beforeStart ? 'unavailable' : 'media_crashed', { details });
  }
  if (outcome.code === 'range_missing')
    return new KinoraError('range_missing', { details: { kind, missing: outcome.missing } });
  if (outcome.code === 'invalid_input') return new KinoraError('invalid_input', { messages: [outcome.message] });
  const details = { kind, reason: outcome.message };
  if (outcome.code === 'no_space') {
    const cause = Object.assign(new Error(outcome.message), { code: 'ENOSPC' });
    return new KinoraError('unavailable', { cause, details: { kind } });
  }
  return new KinoraError('media_failed', { details, failure: outcome.clean ? 'fail' : 'defect' });
};
