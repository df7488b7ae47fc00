import type { WorkflowParams } from '../../../domain/robots/workflow-parameters.js';
import { type Line, requireTranscript } from '../captions.js';
import { frameUrls } from '../frames.js';
import { askPicture } from '../prompts/describe-frames.js';
import { askMoments, type ModelMoment } from '../prompts/find-key-moments.js';
import { awaitShots } from '../shots.js';
import type { Workflow, WorkflowRun } from '../workflow.js';
import { openPlan } from './find-best-thumbnails.js';

const HOUR_SECONDS = 3600;
const FRAMES_OF_A_MOMENT = 3;
/** A moment of a single short line is drawn out to this. */
const MIN_SECONDS = 1;

const milliseconds = (seconds: number): number => Math.round(seconds * 1000);

/** Moments are rows of captions. With `use_shots` their ends move to cuts nearby, and a model that sees says what is shown. */
export const findKeyMoments: Workflow = async (run) => {
  const { job, asset, model } = run;
  const { max_moments: most, use_shots: usesShots } = job.parameters as WorkflowParams<'find-key-moments'>;
  const count = most ?? ((asset.duration_seconds ?? 0) <= HOUR_SECONDS ? 10 : 25);
  const shots = usesShots ? await awaitShots(run) : undefined;
  if (shots && 'waitUntil' in shots) return shots;
  const { lines } = await requireTranscript(run);
  const found = withoutOverlap(await askMoments(run, lines, count)).slice(0, count);
  const moments: object[] = [];
  for (const moment of found.sort((a, b) => a.first_line - b.first_line)) {
    const cues = lines.slice(moment.first_line, moment.last_line + 1);
    const { start, end } = endsOf(cues, shots?.starts ?? [], asset.duration_seconds ?? Number.POSITIVE_INFINITY);
    const seen = shots && model.isConfigured('vision') ? await look(run, start, end) : undefined;
    moments.push({
      start_ms: milliseconds(start),
      end_ms: milliseconds(end),
      title: moment.title,
      overall_score: moment.overall_score,
      audible_narrative: moment.audible_narrative,
      notable_audible_concepts: moment.notable_audible_concepts,
      cues: cues.map(({ startSeconds, endSeconds, text }) => ({
        start_ms: milliseconds(startSeconds),
        end_ms: milliseconds(endSeconds),
        text,
      })),
      ...quoteOf(moment, cues),
      ...seen,
    });
  }
  return { publish: async () => ({ outputs: { moments } }) };
};

/** The better of two that overlap, as they may from windows that do. */
const withoutOverlap = (moments: readonly ModelMoment[]): ModelMoment[] => {
  const kept: ModelMoment[] = [];
  for (const moment of [...moments].sort((a, b) => b.overall_score - a.overall_score))
    if (kept.every(({ first_line, last_line }) => moment.last_line < first_line || moment.first_line > last_line))
      kept.push(moment);
  return kept;
};

const NEAR_CUT_SECONDS = 1;

const endsOf = (cues: readonly Line[], cuts: readonly number[], duration: number): { start: number; end: number } => {
  const [first, last] = [cues[0]!.startSeconds, Math.max(...cues.map(({ endSeconds }) => endSeconds))];
  const before = cuts.findLast((cut) => cut <= first && first - cut <= NEAR_CUT_SECONDS);
  const after = cuts.find((cut) => cut >= last && cut - last <= NEAR_CUT_SECONDS);
  const start = before ?? first;
  return { start, end: Math.min(Math.max(after ?? last, start + MIN_SECONDS), duration) };
};

/** Only what is really said is a quote. */
const quoteOf = ({ quote }: ModelMoment, cues: readonly Line[]): object => {
  if (quote === undefined || quote.trim() === '') return {};
  const cue = cues.find(({ text }) => text.includes(quote.trim().split(/\s+/).slice(0, 3).join(' ')));
  const isSaid = cues
    .map(({ text }) => text)
    .join(' ')
    .includes(quote.trim());
  return cue && isSaid ? { quotable_segment: { start_ms: milliseconds(cue.startSeconds), text: quote.trim() } } : {};
};

const look = async (run: WorkflowRun, start: number, end: number): Promise<object> => {
  const { plan } = await openPlan(run);
  const times = Array.from(
    { length: FRAMES_OF_A_MOMENT },
    (_, at) => start + ((at + 0.5) * (end - start)) / FRAMES_OF_A_MOMENT,
  );
  return askPicture(run, `seen-${milliseconds(start)}`, () => frameUrls(run, plan, times));
};
