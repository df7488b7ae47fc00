import { ratio, spread } from './figures.mjs';

/**
 * Measures a subject and its reference alternately, `repetitions` times after one warm-up round.
 */
export const measureInTurn = async (repetitions, measure, thing, reference) => {
  const results = [[], []];
  for (let i = -1; i < repetitions; i++) {
    const [a, b] = [await measure(thing), await measure(reference)];
    if (i < 0) continue;
    results[0].push(a);
    results[1].push(b);
  }
  return results;
};

/** A row of a table: one field of both results of `measureInTurn`, and their ratio. */
export const comparison = (results, label, field) => {
  const [a, b] = results.map((each) => each.map((result) => result[field]));
  return [label, spread(a), spread(b), ratio(a, b)];
};
