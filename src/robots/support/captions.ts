import type { Row } from '../../db/schema.js';
import { findTrack, listTracks } from '../../db/tables/assets/track.js';
import { KinoraError } from '../../lib/errors.js';
import type { Cue } from '../../media/text/subtitles.js';
import { listCues } from '../../media/text/text-index.js';
import { plainText } from '../calculations/edit-cues.js';
import type { WorkflowRun } from './workflow-run.js';

export interface Captions {
  readonly track: Row<'track'>;
  readonly cues: readonly Cue[];
}

const unusable = (message: string): KinoraError => new KinoraError('invalid_input', { messages: [message] });

/**
 * Reads a track and its text.
 * @throws KinoraError `invalid_input` when it is gone
 */
export const readCaptions = async ({ context, texts, asset }: WorkflowRun, trackId: string): Promise<Captions> => {
  const track = await findTrack(context.database.queryable, asset.id, trackId);
  const text = track?.status === 'ready' && track.type === 'text' ? await texts.find(asset.id, trackId) : undefined;
  if (!track || !text) throw unusable('The text track no longer exists.');
  return { track, cues: listCues(text) };
};

interface Scope {
  readonly start_time?: number;
  readonly end_time?: number;
}

/** The time range of the job, in seconds. */
export const scopeOf = ({ job, asset }: Pick<WorkflowRun, 'job' | 'asset'>): { start: number; end: number } => {
  const { output_steering: steering } = job.parameters as { output_steering?: { scope?: Scope | null } };
  const { start_time, end_time } = steering?.scope ?? {};
  const duration = asset.duration_seconds ?? 0;
  return { start: Math.min(start_time ?? 0, duration), end: Math.min(end_time ?? duration, duration) };
};

/** A cue as a model reads it. */
export interface Line {
  readonly startSeconds: number;
  readonly endSeconds: number;
  readonly text: string;
}

/**
 * Finds what is said in the asset within the time range of the job: in the track that the run
 * chose, or in one of the requested language, or in the first one. Undefined when there is none.
 */
export const findTranscript = async (
  run: WorkflowRun,
): Promise<{ readonly lines: readonly Line[]; readonly language: string | undefined } | undefined> => {
  const { context, asset, job } = run;
  const ready = (await listTracks(context.database.queryable, [asset.id])).filter(
    ({ type, status }) => type === 'text' && status === 'ready',
  );
  const { language_code: language } = job.parameters as { language_code?: string };
  const chosen = ready.find(({ id }) => id === job.input_track_id) ?? findByLanguage(ready, language);
  if (!chosen) return undefined;
  const { track, cues } = await readCaptions(run, chosen.id);
  const { start, end } = scopeOf(run);
  const lines = cues
    .filter(({ startSeconds, endSeconds }) => startSeconds < end && endSeconds > start)
    .map((cue) => ({ startSeconds: cue.startSeconds, endSeconds: cue.endSeconds, text: plainText(cue) }))
    .filter(({ text }) => text !== '');
  return { lines, language: track.language_code ?? undefined };
};

const findByLanguage = (tracks: readonly Row<'track'>[], language: string | undefined): Row<'track'> | undefined => {
  if (language === undefined) return tracks.find(({ language_code }) => language_code?.startsWith('en')) ?? tracks[0];
  const tag = language.toLowerCase();
  return (
    tracks.find(({ language_code }) => language_code?.toLowerCase() === tag) ??
    tracks.find(({ language_code }) => language_code?.toLowerCase().split('-')[0] === tag.split('-')[0])
  );
};

/** @throws KinoraError `invalid_input` when there is nothing to read */
export const requireTranscript = async (run: WorkflowRun) => {
  const transcript = await findTranscript(run);
  const { language_code: language } = run.job.parameters as { language_code?: string };
  if (!transcript)
    throw unusable(
      language === undefined
        ? 'The asset has no ready text track.'
        : `The asset has no ready text track in the language ${language}.`,
    );
  if (transcript.lines.length === 0) throw unusable('The text track has no text in the time range.');
  return transcript;
};
