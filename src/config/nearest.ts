/**
 * The candidate with the smallest Levenshtein distance, for "did you mean"; undefined without
 * candidates.
 */
export const nearest = (word: string, candidates: readonly string[]): string | undefined => {
  const ranked = candidates.map((candidate) => ({
    candidate,
    edits: distance(word.toLowerCase(), candidate.toLowerCase()),
  }));
  return ranked.sort((a, b) => a.edits - b.edits)[0]?.candidate;
};

const distance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
};
