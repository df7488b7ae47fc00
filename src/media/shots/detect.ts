import { LEAST_CUT, NEAR_SECONDS, type ShotScores } from './scores.js';

const MIN_SHOT_SECONDS = 0.5;
/**
 * A cut must exceed the average change around it by this factor, because moving content changes all
 * the time.
 */
const CUT_FACTOR = 3;

/** Where a shot may begin. */
interface Candidate {
  readonly ticks: number;
  readonly strength: number;
}

/**
 * The times, in seconds, at which shots begin; the first is 0. A shot is at least half a second
 * long: if two cuts are closer, the stronger one counts.
 */
export const findShots = (scores: ShotScores, timescale: number, endTicks: number): number[] => {
  const shortest = MIN_SHOT_SECONDS * timescale;
  const candidates = [...findCuts(scores, timescale), ...findDissolves(scores, timescale), ...findFades(scores)]
    .filter(({ ticks }) => ticks >= shortest && endTicks - ticks >= shortest)
    .sort((a, b) => b.strength - a.strength || a.ticks - b.ticks);
  // Each slot of the minimum length holds at most one boundary. Slots keep this fast: hours of
  // video have a hundred thousand of them.
  const chosen = new Map<number, number>();
  for (const { ticks } of candidates) {
    const slot = Math.floor(ticks / shortest);
    const near = [slot - 1, slot, slot + 1].map((at) => chosen.get(at));
    if (near.every((other) => other === undefined || Math.abs(other - ticks) >= shortest)) chosen.set(slot, ticks);
  }
  return [0, ...[...chosen.values()].sort((a, b) => a - b)].map((ticks) => ticks / timescale);
};

const findCuts = ({ ticks, change, lasting }: ShotScores, timescale: number): Candidate[] => {
  const around = NEAR_SECONDS * timescale;
  return lasting.flatMap((strength, at) => {
    if (strength < LEAST_CUT) return [];
    let sum = 0;
    let count = 0;
    // The direct neighbors are excluded: after encoding, a new shot may take one or two frames to
    // appear.
    for (let other = at - 2; other > 0 && ticks[at]! - ticks[other]! <= around; other -= 1) {
      sum += change[other]!;
      count += 1;
    }
    for (let other = at + 2; other < ticks.length && ticks[other]! - ticks[at]! <= around; other += 1) {
      sum += change[other]!;
      count += 1;
    }
    return strength >= CUT_FACTOR * (count === 0 ? 0 : sum / count) ? [{ ticks: ticks[at]!, strength }] : [];
  });
};

/**
 * One candidate for each run of frames that may be the middle of a dissolve: where the surrounding
 * frames differ most.
 */
const findDissolves = ({ ticks, dissolve }: ShotScores, timescale: number): Candidate[] => {
  const runs: Candidate[][] = [];
  dissolve.forEach((strength, at) => {
    if (strength === 0) return;
    const current = runs.at(-1);
    // Weaker than any cut, because a cut has an exact position.
    const candidate = { ticks: ticks[at]!, strength: strength * LEAST_CUT };
    if (current && ticks[at]! - current.at(-1)!.ticks < MIN_SHOT_SECONDS * timescale) current.push(candidate);
    else runs.push([candidate]);
  });
  return runs.map((run) => {
    const strength = run.reduce((most, candidate) => Math.max(most, candidate.strength), 0);
    const strongest = run.filter((candidate) => candidate.strength >= strength * 0.95);
    return strongest[strongest.length >> 1]!;
  });
};

/**
 * The middle of a run of blank frames between a fade-out and a fade-in. Not if a cut is at either
 * end.
 */
const findFades = ({ ticks, blank, lasting }: ShotScores): Candidate[] => {
  const fades: Candidate[] = [];
  const isCut = (at: number): boolean => (lasting[at] ?? 0) >= LEAST_CUT;
  for (let first = 0; first < blank.length; first += 1) {
    if (!blank[first]) continue;
    let end = first;
    while (end < blank.length && blank[end]) end += 1;
    const isBetween = first > 0 && end < blank.length;
    if (isBetween && !isCut(first) && !isCut(end))
      fades.push({ ticks: ticks[(first + end) >> 1]!, strength: LEAST_CUT / 2 });
    first = end;
  }
  return fades;
};
