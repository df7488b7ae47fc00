import { KinoraError } from '../../../lib/errors.js';
import type { Workflow } from '../support/workflow.js';

/** Needs recognition, translation and a voice in one; no kind of provider for that can be configured. */
export const translateAudio: Workflow = async () => {
  throw new KinoraError('provider_unavailable');
};
