// Formats measured values for output: minimum, median and maximum, and ratios of pairs.

export const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

const short = (value) =>
  value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value >= 1 ? value.toFixed(2) : value.toFixed(3);

/** `median (min to max)` */
export const spread = (values) =>
  `${short(median(values))} (${short(Math.min(...values))} to ${short(Math.max(...values))})`;

/**
 * Repetitions of both were measured alternately, so that slow changes of the machine cancel out.
 */
export const ratio = (values, references) => spread(values.map((value, i) => value / references[i]));

export const percent = (part) => `${(100 * part).toFixed(0)} %`;

/** Prints a table. The first row contains the headings. */
export const table = (rows) => {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => String(row[column]).length)));
  const line = (row) => `| ${row.map((cell, column) => String(cell).padEnd(widths[column])).join(' | ')} |`;
  console.log(
    [line(rows[0]), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rows.slice(1).map(line)].join(
      '\n',
    ),
  );
};

/** Always returns the same sequence, so that every run measures the same positions. */
export const randomSource = (seed) => {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
};
