/** Removes tags from cue text and decodes entities. */
export const plainText = (cueText: string): string =>
  cueText
    .replace(/<[^<>]*>/g, '')
    .replace(/&(lt|gt|nbsp|lrm|rlm|quot|apos|amp);/g, (_, name: string) => ENTITIES[name]!);
const ENTITIES: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  nbsp: '\u00A0',
  lrm: '\u200E',
  rlm: '\u200F',
  quot: '"',
  apos: "'",
  amp: '&',
};
