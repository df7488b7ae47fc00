import { GENERATED_SUBTITLE_LANGUAGES } from '../../api/schemas/input.js';

/** What the workers of workflows know of requests. */
export type { WorkflowName, WorkflowParams } from '../../api/schemas/workflows.js';

export type SpeechLanguage = (typeof GENERATED_SUBTITLE_LANGUAGES)[number];

/** The language of speech that a BCP 47 code means; undefined when none is recognized. */
export const findSpeechLanguage = (code: string): SpeechLanguage | undefined => {
  const primary = code.toLowerCase().split('-')[0];
  return GENERATED_SUBTITLE_LANGUAGES.find((language) => language === primary);
};
