/** A JSON object as answers and events carry it. */
export type Wire = Record<string, unknown>;

/** Absent values are left out of answers, never written as null. */
export const withoutNulls = (fields: Wire): Wire =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));

export const unixSeconds = (time: Date): string => String(Math.floor(time.getTime() / 1000));
