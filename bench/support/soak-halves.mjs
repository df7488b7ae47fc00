import { median } from './figures.mjs';

/** How much larger the second half may be than the first. */
const ALLOWED_GROWTH = 0.05;

/**
 * For each figure of chronological samples: the median of each half, and whether the second one is
 * too large.
 */
export const halves = (samples) =>
  Object.keys(samples[0]).map((name) => {
    const values = samples.map((sample) => sample[name]);
    const [first, second] = [values.slice(0, values.length / 2), values.slice(values.length / 2)].map(median);
    return { name, first, second, grew: second > first * (1 + ALLOWED_GROWTH) };
  });
