import { planWindows } from '../../../media/robots/windows.js';
import type { WorkflowRun } from './workflow.js';

/** What a small model reads well at once, with room for its answer: some 6,000 tokens. */
const WINDOW_CHARACTERS = 20_000;
/** What is at the end of one window is at the start of the next too, so that nothing is cut in two. */
const OVERLAP_CHARACTERS = 1500;

/** Works on a long list in windows that overlap; each is done once, also over restarts. */
export const inWindows = async <T, R>(
  run: WorkflowRun,
  name: string,
  items: readonly T[],
  charactersOf: (item: T) => number,
  work: (window: readonly T[], number: number) => Promise<R>,
): Promise<R[]> => {
  const sizes = items.map(charactersOf);
  const results: R[] = [];
  for (const [number, { start, end }] of planWindows(sizes, WINDOW_CHARACTERS, OVERLAP_CHARACTERS).entries())
    results.push(await run.step(`${name}-${number}`, () => work(items.slice(start, end), number)));
  return results;
};
