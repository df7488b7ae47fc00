import { type Static, Type } from 'typebox';
import type { WorkflowParams } from '../api/workflows.js';
import type { Line } from '../support/captions.js';
import { asData, type Prompt } from '../support/model-asker.js';
import { inWindows } from '../support/windows.js';
import type { WorkflowRun } from '../support/workflow-run.js';
import { lineLength, withSeconds } from './transcript.js';

const Answer = Type.Object({
  number: Type.Integer({ minimum: 1 }),
  answer: Type.Union([Type.String(), Type.Null()]),
  confidence: Type.Number({ minimum: 0, maximum: 1 }),
  reasoning: Type.String({ maxLength: 2000 }),
  skipped: Type.Boolean(),
});
const schema = Type.Object({ answers: Type.Array(Answer) });
export type ModelAnswer = Static<typeof Answer>;

const prompt = {
  name: 'ask-questions',
  version: 1,
  system: `You answer numbered questions about a video from its captions. Where answer options are given, the answer is one of them,
word for word. The confidence is above 0.9 for clear evidence, 0.7 to 0.9 for strong evidence, 0.5 to 0.7 for some evidence,
below that for little. The reasoning cites what is said, in one or two sentences. A question that has nothing to do with the
video is skipped: answer null, confidence 0.`,
  schema,
} as const satisfies Prompt<typeof schema>;

type Questions = WorkflowParams<'ask-questions'>['questions'];

const DEFAULT_OPTIONS = ['yes', 'no'];
const DEFAULT_LENGTH = 500;

const optionsOf = ({ answer_options: options, free_form_reply: isFree }: Questions[number]) =>
  isFree ? undefined : (options ?? DEFAULT_OPTIONS);

const describe = (question: Questions[number], at: number, length: number): string => {
  const options = optionsOf(question);
  const form = options
    ? `Options: ${JSON.stringify(options)}`
    : `Answer in your own words, with at most ${length} characters.`;
  return `${at + 1}. ${question.question.replace(/\s+/g, ' ')} ${form}`;
};

const complaintAbout = (questions: Questions, answers: readonly ModelAnswer[]): string | undefined => {
  for (const [at, question] of questions.entries()) {
    const modelAnswer = answers.find(({ number }) => number === at + 1);
    if (!modelAnswer) return `the answer with the number ${at + 1} is missing.`;
    const options = optionsOf(question);
    if (!modelAnswer.skipped && modelAnswer.answer === null) return `answer ${at + 1} is null, but not skipped.`;
    if (!modelAnswer.skipped && options && !options.includes(modelAnswer.answer!))
      return `answer ${at + 1} must be one of ${JSON.stringify(options)}.`;
  }
  return undefined;
};

/** The answers from each part of the transcript. */
export const askQuestions = async (run: WorkflowRun, lines: readonly Line[]): Promise<ModelAnswer[][]> => {
  const { questions, max_free_form_answer_length: length = DEFAULT_LENGTH } = run.job
    .parameters as WorkflowParams<'ask-questions'>;
  const list = questions.map((question, at) => describe(question, at, length)).join('\n');
  const parts = await inWindows(run, 'answers', lines, lineLength, (window) =>
    run.model.ask(run, {
      prompt,
      text: `Questions:\n${asData(list)}\n\nCaptions, with seconds:\n${withSeconds(window)}`,
      check: ({ answers }) => complaintAbout(questions, answers),
    }),
  );
  return parts.map(({ answers }) => answers);
};
