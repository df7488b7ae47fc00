/**
 * Few test cases instead of every combination: most defects need a certain value of one or two
 * properties, not of more.
 */

type Properties = Readonly<Record<string, string | number>>;

/** Every combination of one value of each property. */
export const combinations = <T extends Readonly<Record<string, readonly (string | number)[]>>>(
  properties: T,
): { readonly [K in keyof T]: T[K][number] }[] =>
  Object.entries(properties).reduce<Record<string, string | number>[]>(
    (rows, [name, values]) => rows.flatMap((row) => values.map((value) => ({ ...row, [name]: value }))),
    [{}],
  ) as { readonly [K in keyof T]: T[K][number] }[];

/** Names every two values that occur together. */
export const pairsOf = (row: Properties): string[] => {
  const values = Object.entries(row).map(([name, value]) => `${name}: ${value}`);
  return values.flatMap((value, index) => values.slice(index + 1).map((other) => `${value}, ${other}`));
};

/**
 * Some of the rows that together have every pair of values that any of the rows has; always the
 * same ones.
 */
export const coverPairs = <T extends Properties>(rows: readonly T[]): T[] => {
  const uses = new Map(rows.flatMap(pairsOf).map((pair) => [pair, 0]));
  // How many new pairs a row has at most: the number never grows.
  const candidates = rows.map((row) => ({ row, pairs: pairsOf(row), most: Infinity }));
  const chosen: T[] = [];
  for (;;) {
    let best: (typeof candidates)[number] | undefined;
    let fewest = Infinity;
    for (const candidate of candidates) {
      if (candidate.most < (best?.most ?? 1)) continue;
      const counts = candidate.pairs.map((pair) => uses.get(pair)!);
      candidate.most = counts.filter((count) => count === 0).length;
      if (candidate.most < (best?.most ?? 1)) continue;
      // Of the rows with as many new pairs, the one whose other pairs are rare.
      const total = counts.reduce((sum, count) => sum + count);
      if (candidate.most === best?.most && total >= fewest) continue;
      [best, fewest] = [candidate, total];
    }
    if (!best) return chosen;
    chosen.push(best.row);
    for (const pair of best.pairs) uses.set(pair, uses.get(pair)! + 1);
  }
};
