/** A JSON object as answers and events carry it. */
export type Wire = Record<string, unknown>;

/** Absent values are left out of answers, never written as null. */
export const withoutNulls = (fields: Wire): Wire => {
  const present: Wire = {};
  for (const name in fields) {
    const value = fields[name];
    if (value !== null && value !== undefined) present[name] = value;
  }
  return present;
};

export const unixSeconds = (time: Date): string => String(Math.floor(time.getTime() / 1000));
