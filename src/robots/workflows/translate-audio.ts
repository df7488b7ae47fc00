import { KinoraError } from '../../lib/errors.js';
import type { Workflow } from '../support/workflow-run.js';

/**
 * Needs recognition, translation and speech synthesis in one; no such provider can be configured.
 */
export const translateAudio: Workflow = async () => {
  throw new KinoraError('provider_unavailable');
};
