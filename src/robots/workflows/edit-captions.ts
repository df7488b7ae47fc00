import { findTrack } from '../../db/tables/assets/track.js';
import { dropTrack } from '../../domain/tracks/delete-track.js';
import { publishText } from '../../domain/tracks/publish-text.js';
import { indexCues } from '../../media/text/text-index.js';
import type { WorkflowParams } from '../api/workflows.js';
import { type CueEdits, editCues } from '../calculations/edit-cues.js';
import { findProfanity } from '../prompts/find-profanity.js';
import { readCaptions } from '../support/captions.js';
import type { Workflow, WorkflowRun } from '../support/workflow-run.js';

const FILE = 'vtt';
const DEFAULT_SUFFIX = 'edited';

/** Replaces and censors words of a text track, and replaces the track with the result. */
export const editCaptions: Workflow = async (run) => {
  const { context, job, asset, texts } = run;
  const parameters = job.parameters as WorkflowParams<'edit-captions'>;
  const { upload_to_mux: isUploaded = true, delete_original_track: replaces = true } = parameters;
  const { track, cues } = await readCaptions(run, parameters.track_id!);
  const edits = await editsOf(run, parameters, cues.length === 0 ? [] : cues.map(({ text }) => text));
  const edited = editCues(cues, edits);
  const text = indexCues(edited.cues);
  await run.writeFile(FILE, text.bytes);
  if (isUploaded) await texts.store(asset.id, job.new_track_id, text);
  return {
    publish: async ({ tx, asset: locked }) => {
      const outputs = { total_replacement_count: edited.count };
      const files = { temporary_vtt_url: FILE };
      if (!isUploaded) return { outputs, files };
      const suffix = parameters.track_name_suffix ?? DEFAULT_SUFFIX;
      await publishText(context, tx, locked, {
        id: job.new_track_id,
        name: [track.name, suffix].filter(Boolean).join(' '),
        languageCode: track.language_code ?? 'und',
        closedCaptions: track.closed_captions ?? false,
      });
      const original = replaces ? await findTrack(tx, asset.id, track.id) : undefined;
      if (original) await dropTrack(context, tx, asset.environment_id, original);
      return { outputs: { ...outputs, uploaded_track_id: job.new_track_id }, files };
    },
  };
};

/** Without a model, only the words that the caller lists are censored. */
const editsOf = async (
  run: WorkflowRun,
  {
    replacements = [],
    speaker_replacements: speakers = [],
    auto_censor_profanity: profanity,
  }: WorkflowParams<'edit-captions'>,
  lines: readonly string[],
): Promise<CueEdits> => {
  const always = profanity?.always_censor ?? [];
  const never = new Set((profanity?.never_censor ?? []).map((word) => word.toLowerCase()));
  const asks = profanity !== undefined && (run.model.isConfigured('text') || always.length === 0);
  const profaneWords = asks ? await findProfanity(run, lines) : [];
  const censored = [...new Set([...always, ...profaneWords])].filter((word) => !never.has(word.toLowerCase()));
  return { replacements, speakers, censored, mode: profanity?.mode ?? 'blank' };
};
