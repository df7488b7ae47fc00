import type { WorkflowParams } from '../api/workflows.js';
import { askQuestions as askModel, type ModelAnswer } from '../prompts/ask-questions.js';
import { requireTranscript } from '../support/captions.js';
import type { Workflow } from '../support/workflow-run.js';

const DEFAULT_LENGTH = 500;

/** From the answers of all parts of the transcript, the most confident one is used. */
export const askQuestions: Workflow = async (run) => {
  const { questions, max_free_form_answer_length: length = DEFAULT_LENGTH } = run.job
    .parameters as WorkflowParams<'ask-questions'>;
  const { lines } = await requireTranscript(run);
  const parts = await askModel(run, lines);
  const answers = questions.map(({ question, free_form_reply: isFree }, at) => {
    const answersOfParts = parts.map((answers) => answers.find(({ number }) => number === at + 1)!);
    const { answer, confidence, reasoning, skipped } = answersOfParts.reduce(surer);
    if (skipped || answer === null) return { question, answer: null, confidence: 0, reasoning, skipped: true };
    const shown = isFree ? [...answer].slice(0, length).join('') : answer;
    return { question, answer: shown, confidence, reasoning, skipped: false };
  });
  return { publish: async () => ({ outputs: { answers } }) };
};

const surer = (a: ModelAnswer, b: ModelAnswer): ModelAnswer => {
  if (a.skipped !== b.skipped) return a.skipped ? b : a;
  return b.confidence > a.confidence ? b : a;
};
