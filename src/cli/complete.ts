import type { Command as Parser } from 'commander';

/** Candidates with their descriptions. */
export type Candidates = readonly (readonly [word: string, doc: string])[];

/** IDs that only the server knows. */
export interface WantedIds {
  /** What they name: the first word of the commands for it, or `playback`. */
  readonly kind: string;
  /** Flags with their values, which may say where the server is. */
  readonly flags: Readonly<Record<string, string>>;
  /** Those that the command line has already. */
  readonly givenWords: readonly string[];
}

/** Candidates, the names of files, or IDs. */
export type Completion = ':files' | Candidates | WantedIds;

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
  const givenWords: string[] = [];
  const flags: Record<string, string> = {};
  let flagOfNext: Parser['options'][number] | undefined;
  for (const word of before) {
    const option = flagOfNext ? undefined : parser.options.find(({ long }) => long === word);
    const isValue = flagOfNext !== undefined;
    if (flagOfNext) flags[flagOfNext.long!] = word;
    flagOfNext = option?.required ? option : undefined;
    if (isValue || word.startsWith('-')) continue;
    const nested = parser.commands.find((command) => command.name() === word);
    if (nested) parser = nested;
    // Nothing can be said about a command that does not exist.
    else if (parser.commands.length > 0) return [];
    else givenWords.push(word);
  }
  if (flagOfNext?.long === '--environment') return { kind: 'env', flags, givenWords: [] };
  if (flagOfNext) return valuesOf(flagOfNext);
  if (partial.startsWith('-')) {
    return parser.options
      .filter(({ long }) => !before.includes(long!))
      .map(({ long, description }) => [long!, description] as const);
  }
  if (parser.commands.length > 0) return parser.commands.map((command) => [command.name(), command.summary()]);
  const argument =
    parser.registeredArguments[givenWords.length] ?? parser.registeredArguments.findLast(({ variadic }) => variadic);
  if (!argument) return [];
  if (argument.name() === 'shell') return ['bash', 'zsh', 'fish'].map((shell) => [shell, '']);
  if (FILES.has(argument.name())) return ':files';
  const kind = kindOf(parser, argument.name());
  return kind === undefined ? [] : { kind, flags, givenWords };
};

/** What an argument names; undefined when it is no ID of this server. */
const kindOf = (parser: Parser, argument: string): string | undefined => {
  if (argument === 'id') return parser.parent?.name();
  return /^(asset|playback)-id$/.exec(argument)?.[1];
};

const valuesOf = ({ argChoices, flags }: Parser['options'][number]): Completion => {
  if (argChoices) return argChoices.map((choice) => [choice, '']);
  const placeholder = /<(.+)>/.exec(flags)?.[1] ?? '';
  return FILES.has(placeholder) || flags.startsWith('--data-dir') ? ':files' : [];
};
