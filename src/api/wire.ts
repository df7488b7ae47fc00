/** A JSON object as sent in responses and events. */
export type Wire = Record<string, unknown>;

/** Omits absent values from responses; they are never written as null. */
export const withoutNulls = (fields: Wire): Wire => {
  const present: Wire = {};
  for (const name in fields) {
    const value = fields[name];
    if (value !== null && value !== undefined) present[name] = value;
  }
  return present;
};

export const unixSeconds = (time: Date): string => String(Math.floor(time.getTime() / 1000));
