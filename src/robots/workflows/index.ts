import type { Row } from '../../db/schema.js';
import type { WorkflowName, WorkflowParams } from '../api/workflows.js';
import type { Workflow } from '../support/workflow-run.js';
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

const READERS: readonly WorkflowName[] = ['ask-questions', 'generate-chapters', 'summarize', 'translate-captions'];

type Model = 'text' | 'vision';

/**
 * The kinds of model that can run a job, of which it needs one; empty when some of its work needs
 * no model.
 */
export const modelsNeeded = ({ workflow, parameters }: Row<'robots_job'>, isAudioOnly: boolean): readonly Model[] => {
  const name = workflow as WorkflowName;
  if (name === 'moderate') return isAudioOnly ? ['text'] : ['vision'];
  if (name === 'find-scenes') return ['vision', 'text'];
  if (name === 'find-key-moments')
    return (parameters as WorkflowParams<'find-key-moments'>).use_shots ? ['vision', 'text'] : ['text'];
  return READERS.includes(name) ? ['text'] : [];
};
