import { writeTitle } from '../../domain/assets/update-asset.js';
import type { WorkflowParams } from '../api/workflows.js';
import { askSummary } from '../prompts/summarize.js';
import { requireTranscript } from '../support/captions.js';
import type { Workflow } from '../support/workflow-run.js';

const DEFAULT_TAGS = 10;

export const summarize: Workflow = async (run) => {
  const parameters = run.job.parameters as WorkflowParams<'summarize'>;
  const { lines } = await requireTranscript(run);
  const summary = await askSummary(run, lines);
  const outputs = {
    title: firstWords(summary.title, parameters.title_length),
    description: firstWords(summary.description, parameters.description_length),
    tags: tagsOf(summary.tags, parameters),
  };
  return {
    publish: async ({ tx, asset }) => {
      if (parameters.update_asset_meta) await writeTitle(run.context, tx, asset, outputs.title);
      return { outputs };
    },
  };
};

const firstWords = (text: string, count: number | undefined): string => {
  const words = text.trim().split(/\s+/);
  return count === undefined || words.length <= count ? text.trim() : words.slice(0, count).join(' ');
};

interface Taxonomy {
  readonly allow_other?: boolean;
  readonly values?: readonly { readonly label?: unknown; readonly aliases?: readonly unknown[] }[];
}

/**
 * Removes duplicates. Variants of the caller's own words are replaced by these; if only those words
 * are allowed, the rest is dropped.
 */
const tagsOf = (
  tags: readonly string[],
  { tag_count: count, output_steering: steering }: WorkflowParams<'summarize'>,
): string[] => {
  const { values = [], allow_other: others = true } = (steering?.tag_taxonomy ?? {}) as Taxonomy;
  const labels = new Map<string, string>();
  for (const { label, aliases = [] } of Array.isArray(values) ? values : [])
    for (const name of [label, ...(Array.isArray(aliases) ? aliases : [])])
      if (typeof name === 'string' && typeof label === 'string') labels.set(name.toLowerCase(), label);
  const named = tags.flatMap(
    (tag) => labels.get(tag.trim().toLowerCase()) ?? (others || labels.size === 0 ? tag.trim() : []),
  );
  return [...new Set(named)].slice(0, count ?? DEFAULT_TAGS);
};
