/** Returns the last value of a query parameter that may be repeated. */
export const lastOf = (value: unknown): string | undefined => {
  const last = Array.isArray(value) ? value.at(-1) : value;
  return typeof last === 'string' ? last : undefined;
};
