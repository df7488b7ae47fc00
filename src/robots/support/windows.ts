import { planWindows } from '../calculations/windows.js';
import type { WorkflowRun } from './workflow-run.js';

/** What a small model can process in one question, with room for its answer: about 6,000 tokens. */
const WINDOW_CHARACTERS = 20_000;
/** The end of one window is repeated at the start of the next, so that nothing is cut in two. */
const OVERLAP_CHARACTERS = 1500;

/** Processes a long list in overlapping windows; each is processed once, even across restarts. */
export const inWindows = async <T, R>(
  run: WorkflowRun,
  name: string,
  items: readonly T[],
  charactersOf: (item: T) => number,
  task: (window: readonly T[], number: number) => Promise<R>,
): Promise<R[]> => {
  const sizes = items.map(charactersOf);
  const results: R[] = [];
  for (const [number, { start, end }] of planWindows(sizes, WINDOW_CHARACTERS, OVERLAP_CHARACTERS).entries())
    results.push(await run.step(`${name}-${number}`, () => task(items.slice(start, end), number)));
  return results;
};
