const MAX_CAUSES = 5;

/**
 * A connection that failed at every address of its host has an error for each, and no message of
 * its own.
 */
const messageOf = (error: unknown): string => {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join(', ');
  return error instanceof Error ? error.message : String(error);
};

/**
 * The messages of an error and its causes. Without NUL, which databases can't store and external
 * tools may print.
 */
export const causeChain = (error: unknown): string => {
  const texts: string[] = [];
  for (let link = error; link !== undefined && texts.length < MAX_CAUSES; ) {
    texts.push(messageOf(link));
    link = link instanceof Error ? link.cause : undefined;
  }
  return texts.join(' <- ').replaceAll('\0', '');
};
