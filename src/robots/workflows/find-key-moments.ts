import type { WorkflowParams } from '../api/workflows.js';
import { askFrames } from '../prompts/describe-frames.js';
import { askMoments } from '../prompts/find-key-moments.js';
import { askMomentsInShots } from '../prompts/find-moments-in-shots.js';
import { type Line, requireTranscript } from '../support/captions.js';
import { frameUrls, openPlan } from '../support/frames.js';
import { readShots } from '../support/shots.js';
import type { Workflow, WorkflowEnd, WorkflowRun } from '../support/workflow-run.js';

const HOUR_SECONDS = 3600;
const FRAMES_OF_A_MOMENT = 3;
/** A moment of a single short line is extended to this length. */
const MIN_SECONDS = 1;
/** In a talk without cuts, a moment is a part of the only shot. */
const MAX_SHOT_SECONDS = 15;

const milliseconds = (seconds: number): number => Math.round(seconds * 1000);

/** What the two ways to find moments have in common. */
interface Moment {
  /** Numbers of the first and the last line or shot. */
  readonly first: number;
  readonly last: number;
  readonly title: string;
  readonly overall_score: number;
  readonly audible_narrative?: string;
  readonly notable_audible_concepts?: readonly string[];
  readonly quote?: string;
}

interface Place {
  readonly start: number;
  readonly end: number;
  readonly cues: readonly Line[];
}

/**
 * Moments are ranges of caption lines. With `use_shots` they are ranges of shots, and speech is not
 * required.
 */
export const findKeyMoments: Workflow = async (run) => {
  const { max_moments: most, use_shots: usesShots } = run.job.parameters as WorkflowParams<'find-key-moments'>;
  const count = most ?? ((run.asset.duration_seconds ?? 0) <= HOUR_SECONDS ? 10 : 25);
  return usesShots ? findInShots(run, count) : findInCaptions(run, count);
};

const findInCaptions = async (run: WorkflowRun, count: number): Promise<WorkflowEnd> => {
  const { lines } = await requireTranscript(run);
  const moments = (await askMoments(run, lines, count)).map(({ first_line: first, last_line: last, ...moment }) => ({
    ...moment,
    first,
    last,
  }));
  const duration = run.asset.duration_seconds ?? Number.POSITIVE_INFINITY;
  return present(run, moments, count, ({ first, last }) => {
    const cues = lines.slice(first, last + 1);
    const start = cues[0]!.startSeconds;
    const end = Math.max(...cues.map(({ endSeconds }) => endSeconds), start + MIN_SECONDS);
    return { start, end: Math.min(end, duration), cues };
  });
};

const findInShots = async (run: WorkflowRun, count: number): Promise<WorkflowEnd> => {
  const read = await readShots(run, MAX_SHOT_SECONDS);
  if ('waitUntil' in read) return read;
  const { shots, framesOf } = read;
  const moments = (await askMomentsInShots(run, shots, count, framesOf)).map(
    ({ first_shot: first, last_shot: last, ...moment }) => ({ ...moment, first, last }),
  );
  return present(run, moments, count, ({ first, last }) => {
    const members = shots.slice(first, last + 1);
    const cues = [...new Set(members.flatMap(({ lines }) => lines))];
    return { start: members[0]!.startSeconds, end: members.at(-1)!.endSeconds, cues };
  });
};

/** The best moments in order of time; a moment without speech has no audio description. */
const present = async (
  run: WorkflowRun,
  foundMoments: readonly Moment[],
  count: number,
  placeOf: (moment: Moment) => Place,
): Promise<WorkflowEnd> => {
  const moments: object[] = [];
  const best = withoutOverlap(foundMoments).slice(0, count);
  for (const moment of best.sort((a, b) => a.first - b.first)) {
    const { start, end, cues } = placeOf(moment);
    const isHeard = cues.length > 0;
    moments.push({
      start_ms: milliseconds(start),
      end_ms: milliseconds(end),
      title: moment.title,
      overall_score: moment.overall_score,
      audible_narrative: (isHeard && moment.audible_narrative) || '',
      notable_audible_concepts: (isHeard && moment.notable_audible_concepts) || [],
      cues: cues.map(({ startSeconds, endSeconds, text }) => ({
        start_ms: milliseconds(startSeconds),
        end_ms: milliseconds(endSeconds),
        text,
      })),
      ...quoteOf(moment, cues),
      ...(await describeFrames(run, start, end)),
    });
  }
  return { publish: async () => ({ outputs: { moments } }) };
};

/** Keeps the better of two overlapping moments, which overlapping windows may produce. */
const withoutOverlap = (moments: readonly Moment[]): Moment[] => {
  const keptMoments: Moment[] = [];
  for (const moment of [...moments].sort((a, b) => b.overall_score - a.overall_score))
    if (keptMoments.every(({ first, last }) => moment.last < first || moment.first > last)) keptMoments.push(moment);
  return keptMoments;
};

/** A quote must really occur in the captions. */
const quoteOf = ({ quote }: Moment, cues: readonly Line[]): object => {
  if (quote === undefined || quote.trim() === '') return {};
  const cue = cues.find(({ text }) => text.includes(quote.trim().split(/\s+/).slice(0, 3).join(' ')));
  const isSaid = cues
    .map(({ text }) => text)
    .join(' ')
    .includes(quote.trim());
  return cue && isSaid ? { quotable_segment: { start_ms: milliseconds(cue.startSeconds), text: quote.trim() } } : {};
};

/** What is visible, if there is video and a vision model. */
const describeFrames = async (run: WorkflowRun, start: number, end: number): Promise<object> => {
  if (!run.model.isConfigured('vision') || run.asset.resolution_tier === 'audio-only') return {};
  const { plan } = await openPlan(run);
  const times = Array.from(
    { length: FRAMES_OF_A_MOMENT },
    (_, at) => start + ((at + 0.5) * (end - start)) / FRAMES_OF_A_MOMENT,
  );
  return askFrames(run, `seen-${milliseconds(start)}`, () => frameUrls(run, plan, times));
};
