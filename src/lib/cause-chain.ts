const MAX_CAUSES = 5;

/** The messages of an error and its causes. Without NUL, which databases can't store and external tools may print. */
export const causeChain = (error: unknown): string => {
  const texts: string[] = [];
  for (let link = error; link !== undefined && texts.length < MAX_CAUSES; ) {
    texts.push(link instanceof Error ? link.message : String(link));
    link = link instanceof Error ? link.cause : undefined;
  }
  return texts.join(' <- ').replaceAll('\0', '');
};
