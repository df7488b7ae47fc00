import { writeChapters } from '../../domain/assets/chapters.js';
import type { WorkflowParams } from '../api/workflows.js';
import { mergeChapters } from '../calculations/chapters.js';
import { askChapters } from '../prompts/generate-chapters.js';
import { requireTranscript } from '../support/captions.js';
import type { Workflow } from '../support/workflow-run.js';

export const generateChapters: Workflow = async (run) => {
  const { update_asset_chapters: updates } = run.job.parameters as WorkflowParams<'generate-chapters'>;
  const { lines } = await requireTranscript(run);
  const chapterLists = await askChapters(run, lines);
  const chapters = mergeChapters(chapterLists, run.asset.duration_seconds ?? 0);
  return {
    publish: async ({ tx, asset }) => {
      if (!updates) return { outputs: { chapters } };
      const replaced = await writeChapters(tx, asset, { id: run.job.new_track_id, chapters });
      const update = {
        status: 'created',
        track_id: run.job.new_track_id,
        ...(replaced !== undefined && { replaced_track_id: replaced }),
      };
      return { outputs: { chapters, asset_update: update } };
    },
  };
};
