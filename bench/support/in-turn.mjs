import { ratio, spread } from './figures.mjs';

/** Results of `measure` for a thing and its reference, in turn and `repetitions` times, after once to warm up. */
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
