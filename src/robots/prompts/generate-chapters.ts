import { type Static, Type } from 'typebox';
import type { WorkflowParams } from '../api/workflows.js';
import type { Line } from '../support/captions.js';
import type { Prompt } from '../support/model-asker.js';
import { inWindows } from '../support/windows.js';
import type { WorkflowRun } from '../support/workflow-run.js';
import { hintsOf, languageRule, lineLength, withSeconds } from './transcript.js';

const schema = Type.Object({
  chapters: Type.Array(
    Type.Object({
      start_time: Type.Number({ minimum: 0, description: 'Seconds' }),
      title: Type.String({ minLength: 1, maxLength: 200 }),
    }),
    { minItems: 1, maxItems: 100 },
  ),
});

const prompt = {
  name: 'generate-chapters',
  version: 1,
  system: `You divide a video into chapters from its captions, each of which begins with a time in seconds. A chapter begins where
the topic changes, at the time of a caption. Three to eight chapters for ten minutes are usual; chapters under thirty seconds
are rare. Titles have two to seven words and say what the chapter is about.`,
  schema,
} as const satisfies Prompt<typeof schema>;

export type Chapter = Static<typeof schema>['chapters'][number];

export const askChapters = async (run: WorkflowRun, lines: readonly Line[]): Promise<Chapter[][]> => {
  const parameters = run.job.parameters as WorkflowParams<'generate-chapters'>;
  const request = `${languageRule(parameters.output_language_code)}${hintsOf(parameters)}`;
  const answers = await inWindows(run, 'chapters', lines, lineLength, (window) => {
    const [from, until] = [window[0]!.startSeconds, window.at(-1)!.endSeconds];
    return run.model.ask(run, {
      prompt,
      text: `${request}\n\nCaptions from second ${from.toFixed(1)} to ${until.toFixed(1)}:\n${withSeconds(window)}`,
      check: ({ chapters }) =>
        chapters.every(({ start_time }) => start_time <= until + 1)
          ? undefined
          : `every start_time must be between ${from.toFixed(1)} and ${until.toFixed(1)}.`,
    });
  });
  return answers.map(({ chapters }) => chapters);
};
