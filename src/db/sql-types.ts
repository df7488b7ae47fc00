import pg from 'pg';

/** PostgreSQL `bigint` as a JavaScript number: sequence numbers and byte counts stay far below 2^53. */
const toSafeInteger = (text: string): number => {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`bigint ${text} is not a safe integer`);
  return value;
};

export const sqlTypes = new pg.TypeOverrides();
sqlTypes.setTypeParser(pg.types.builtins.INT8, toSafeInteger);
