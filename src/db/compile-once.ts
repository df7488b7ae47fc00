import type { Compilable, CompiledQuery } from 'kysely';
import type { Queryable } from './database.js';

/**
 * A query that is built and compiled at its first call; later ones fill in their values only, because building one costs more
 * than the rest of a short query. `build` must make the same query of any values, with every value as a parameter.
 */
export const compileOnce = <V extends readonly unknown[], R>(
  build: (db: Queryable, ...values: V) => Compilable<R>,
): ((db: Queryable, ...values: V) => Promise<R[]>) => {
  let compiled: CompiledQuery<R> | undefined;
  /** Stand for the values, by position, while the query is built. */
  const places: object[] = [];
  return async (db, ...values) => {
    if (!compiled) {
      for (let i = 0; i < values.length; i++) places.push({});
      compiled = build(db, ...(places as unknown as V)).compile();
    }
    const parameters = compiled.parameters.map((parameter) => {
      const place = places.indexOf(parameter as object);
      return place < 0 ? parameter : values[place];
    });
    const { rows } = await db.executeQuery<R>({ ...compiled, parameters });
    return rows;
  };
};
