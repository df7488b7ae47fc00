import type { Command as Parser } from 'commander';

/** Candidates with their descriptions, or the names of files. */
export type Completion = ':files' | readonly (readonly [word: string, doc: string])[];

/** Placeholders of arguments and flags whose values are files. */
const FILES = new Set(['source', 'dir', 'file']);

/**
 * What can stand at the end of a command line.
 * @param words the words after the program's name; the last one is completed and may be empty
 */
export const complete = (root: Parser, words: readonly string[]): Completion => {
  const before = words.slice(0, -1);
  const partial = words.at(-1) ?? '';
  let parser = root;
  let argument = 0;
  let flagOfNext: Parser['options'][number] | undefined;
  for (const word of before) {
    const option = flagOfNext ? undefined : parser.options.find(({ long }) => long === word);
    const isValue = flagOfNext !== undefined;
    flagOfNext = option?.required ? option : undefined;
    if (isValue || word.startsWith('-')) continue;
    const nested = parser.commands.find((command) => command.name() === word);
    if (nested) parser = nested;
    // Nothing can be said about a command that does not exist.
    else if (parser.commands.length > 0) return [];
    else argument += 1;
  }
  if (flagOfNext) return valuesOf(flagOfNext);
  if (partial.startsWith('-')) {
    return parser.options
      .filter(({ long }) => !before.includes(long!))
      .map(({ long, description }) => [long!, description] as const);
  }
  if (parser.commands.length > 0) return parser.commands.map((command) => [command.name(), command.summary()]);
  const wanted =
    parser.registeredArguments[argument] ?? parser.registeredArguments.findLast(({ variadic }) => variadic);
  if (!wanted) return [];
  if (wanted.name() === 'shell') return ['bash', 'zsh', 'fish'].map((shell) => [shell, '']);
  return FILES.has(wanted.name()) ? ':files' : [];
};

const valuesOf = ({ argChoices, flags }: Parser['options'][number]): Completion => {
  if (argChoices) return argChoices.map((choice) => [choice, '']);
  const placeholder = /<(.+)>/.exec(flags)?.[1] ?? '';
  return FILES.has(placeholder) || flags.startsWith('--data-dir') ? ':files' : [];
};
