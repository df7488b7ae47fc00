// Answers what the plan is: whether it can be used.

import type { Plan } from '../media/plan/plan.js';
import { longestSegmentSeconds } from '../media/plan/segment-times.js';
import { refusals } from '../media/source/refusals.js';
import { checkDuration, refuse } from './file/probe-file.js';

/**
 * A frame can't be displayed longer than this: the audio for it is made in memory (about 1 MB per second), and such
 * long pauses have only been seen in files with a damaged index.
 */
const MAX_SEGMENT_SECONDS = 300;

/** @throws KinoraError `invalid_input` for assets that can't be played, or not by this server */
export const checkPlan = (plan: Plan): void => {
  if (plan.durationSeconds <= 0) refuse('The input file does not contain any playable duration.');
  checkDuration(plan.durationSeconds);
  if (plan.video && longestSegmentSeconds(plan.video) > MAX_SEGMENT_SECONDS)
    refuse(refusals.damagedBy('the timestamps of its video leave gaps that are too long'));
};
