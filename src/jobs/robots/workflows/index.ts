import type { WorkflowName } from '../../../domain/robots/workflow-parameters.js';
import type { Workflow } from '../workflow.js';
import { askQuestions } from './ask-questions.js';
import { editCaptions } from './edit-captions.js';
import { findBestThumbnails } from './find-best-thumbnails.js';
import { findKeyMoments } from './find-key-moments.js';
import { findScenes } from './find-scenes.js';
import { generateChapters } from './generate-chapters.js';
import { generateEngagementInsights } from './generate-engagement-insights.js';
import { generatePremiumCaptions } from './generate-premium-captions.js';
import { moderate } from './moderate.js';
import { summarize } from './summarize.js';
import { translateAudio } from './translate-audio.js';
import { translateCaptions } from './translate-captions.js';

export const workflows: Readonly<Record<WorkflowName, Workflow>> = {
  'ask-questions': askQuestions,
  'edit-captions': editCaptions,
  'find-best-thumbnails': findBestThumbnails,
  'find-key-moments': findKeyMoments,
  'find-scenes': findScenes,
  'generate-chapters': generateChapters,
  'generate-engagement-insights': generateEngagementInsights,
  'generate-premium-captions': generatePremiumCaptions,
  moderate,
  summarize,
  'translate-audio': translateAudio,
  'translate-captions': translateCaptions,
};

const READERS: readonly WorkflowName[] = [
  'ask-questions',
  'find-key-moments',
  'find-scenes',
  'generate-chapters',
  'summarize',
  'translate-captions',
];

/** The kind of model without which a workflow can do nothing. */
export const modelNeeded = (workflow: WorkflowName, isAudioOnly: boolean): 'text' | 'vision' | undefined => {
  if (workflow === 'moderate') return isAudioOnly ? 'text' : 'vision';
  return READERS.includes(workflow) ? 'text' : undefined;
};
