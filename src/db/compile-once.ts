import type { Compilable, CompiledQuery } from 'kysely';
import type { Queryable } from './database.js';

/**
 * Builds and compiles a query on its first call; later calls only fill in their values, because
 * building a query costs more than the rest of a short one. `build` must produce the same query for
 * any values and pass every value as a parameter.
 */
export const compileOnce = <V extends readonly unknown[], R>(
  build: (db: Queryable, ...values: V) => Compilable<R>,
): ((db: Queryable, ...values: V) => Promise<R[]>) => {
  let compiled: CompiledQuery<R> | undefined;
  /** Placeholders for the values, by position, used while the query is built. */
  const placeholders: object[] = [];
  return async (db, ...values) => {
    if (!compiled) {
      for (let i = 0; i < values.length; i++) placeholders.push({});
      compiled = build(db, ...(placeholders as unknown as V)).compile();
    }
    const parameters = compiled.parameters.map((parameter) => {
      const position = placeholders.indexOf(parameter as object);
      return position < 0 ? parameter : values[position];
    });
    const { rows } = await db.executeQuery<R>({ ...compiled, parameters });
    return rows;
  };
};
