import { CommanderError, Option, Command as Parser } from 'commander';
import { flagOf, options, type Option as ServerOption } from '../config/options.js';
import { type CommandGroup, commandGroups } from './commands.js';
import { type Command, type Flags, usageError } from './support/command.js';

/** A command line that is to be run. */
export interface Invocation {
  readonly words: string;
  readonly command: Command;
  readonly args: readonly string[];
  readonly flags: Flags;
  /** Values of the server's options that were given as flags, by variable. */
  readonly settings: Readonly<Record<string, string>>;
}

const optionTable: Readonly<Record<string, ServerOption>> = options;

/** All commands by the words that invoke them. */
const commands: ReadonlyMap<string, Command> = new Map(commandGroups.flatMap(({ members }) => Object.entries(members)));

const groupSummaries = new Map(commandGroups.flatMap(({ summaries }) => Object.entries(summaries)));

/**
 * Finds the command of a command line and what was given to it. Help goes to standard output.
 * @param argv without the names of the program and the script
 * @returns undefined when help or the version was requested and printed
 * @throws KinoraError `config_invalid`
 */
export const parseCommandLine = (argv: readonly string[], version: string): Invocation | undefined => {
  let foundInvocation: Invocation | undefined;
  const root = createParser((invocation) => {
    foundInvocation = invocation;
  });
  root.version(version, '--version', 'print the version');
  try {
    root.parse(commandFirst(argv), { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) throw usageError(error.message.replace(/^error: /, ''));
  }
  return foundInvocation;
};

/**
 * Flags may stand before the command, as in `kinora --port 80 serve`; commander wants its words
 * first.
 */
const commandFirst = (argv: readonly string[]): readonly string[] => {
  if (argv[0] === 'help') return [...argv.slice(1), '--help'];
  if (!argv[0]?.startsWith('-')) return argv;
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
  for (let index = 1; index < end; index++) {
    for (const length of [2, 1]) {
      const words = argv.slice(index, index + length);
      if (commands.has(words.join(' '))) return [...words, ...argv.slice(0, index), ...argv.slice(index + length)];
    }
  }
  return argv;
};

/** @param onFound called when a command line that can be run was parsed */
export const createParser = (onFound: (invocation: Invocation) => void): Parser => {
  const root = new Parser('kinora');
  root
    .description('Kinora: a self-hosted video API.')
    .helpOption('-h, --help', 'print help')
    .helpCommand(false)
    .configureOutput({ writeErr: () => undefined })
    .configureHelp({ subcommandTerm: termOf, optionDescription: describeOption })
    .exitOverride((error) => reject(root, error))
    .addHelpText(
      'after',
      '\nWithout arguments, kinora starts the server.\nRun kinora <command> --help for its flags and examples.',
    );
  for (const group of commandGroups) addGroup(root, group, onFound);
  return root;
};

const addGroup = (root: Parser, { title, members }: CommandGroup, onFound: (invocation: Invocation) => void): void => {
  for (const [words, command] of Object.entries(members)) {
    const [first, second] = words.split(' ') as [string, string?];
    const parent =
      second === undefined ? root : (root.commands.find((one) => one.name() === first) ?? nest(root, first));
    const parser = parent.command(second ?? first).helpGroup(parent === root ? `${title}:` : 'Commands:');
    fill(parser, words, command, onFound);
    if (parent !== root) parent.helpGroup(`${title}:`);
  }
};

/** The first of two words, such as `asset`. */
const nest = (root: Parser, word: string): Parser => {
  const parser = root.command(word);
  return parser
    .summary(groupSummaries.get(word) ?? '')
    .usage('<command>')
    .helpCommand(false)
    .exitOverride((error) => reject(parser, error));
};

const describeOption = ({ description, argChoices }: Option): string =>
  argChoices ? `${argChoices.join(', ')}: ${description}` : description;

const termOf = (parser: Parser): string =>
  [parser.name(), ...(parser.commands.length > 0 ? ['<command>'] : parser.registeredArguments.map(argumentTerm))].join(
    ' ',
  );

const argumentTerm = (argument: Parser['registeredArguments'][number]): string => {
  const text = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${text}>` : `[${text}]`;
};

const fill = (parser: Parser, words: string, command: Command, onFound: (invocation: Invocation) => void): void => {
  const sentence = `${command.summary[0]!.toUpperCase()}${command.summary.slice(1)}.`;
  parser
    .summary(command.summary)
    .description(sentence)
    .exitOverride((error) => reject(parser, error));
  for (const argument of command.args) parser.argument(argument);
  for (const [form, flag] of Object.entries(command.flags ?? {})) {
    const option = new Option(form, typeof flag === 'string' ? flag : flag.doc);
    parser.addOption(typeof flag === 'string' ? option : option.choices(flag.choices));
  }
  const own = [...parser.options];
  for (const setting of command.settings) parser.addOption(settingOption(setting, words === 'serve'));
  const examples = command.examples.map((example) => `  ${example}`);
  parser.addHelpText('after', `\nExamples:\n${examples.join('\n')}`);
  parser.action(() => {
    const values = valuesOf(parser, own);
    const settings = valuesOf(
      parser,
      parser.options.filter((option) => !own.includes(option)),
    );
    onFound({ words, command, args: parser.args, flags: values, settings: byVariable(settings) });
  });
};

/** The options of the server as they are for a command that talks to it. */
const clientDocs: Readonly<Record<string, string>> = {
  dataDir: 'data directory of the server',
  host: 'host of the server',
  port: 'port of the server',
  publicUrl: 'URL of the server, if it is not at host and port',
  streamUrl: 'base of playback URLs, if they differ from the URL of the server',
  token: 'access token; the one in the data directory if absent',
};

const settingOption = (setting: string, isServe: boolean): Option => {
  const { variable, kind, section, ...option } = optionTable[setting]!;
  const doc = isServe ? option.doc : (clientDocs[setting] ?? option.doc);
  // A flag that may stand alone has its value in brackets.
  const parsed = new Option(
    `${flagOf(variable)} ${kind.bare === undefined ? '<value>' : '[value]'}`,
    doc.replaceAll('`', ''),
  ).helpGroup(isServe ? `${section}:` : 'Server (also as KINORA_ variables or in .env):');
  return kind.bare === undefined ? parsed : parsed.preset(kind.bare);
};

const valuesOf = (parser: Parser, own: readonly Option[]): Record<string, string | true> => {
  const entries = own.flatMap((option): [string, string | true][] => {
    const value: unknown = parser.getOptionValue(option.attributeName());
    // `--no-wait` is the value false of `wait`.
    if (value === undefined || value === option.negate) return [];
    return [[option.long!, typeof value === 'string' ? value : true]];
  });
  return Object.fromEntries(entries);
};

const byVariable = (settings: Flags): Record<string, string> =>
  Object.fromEntries(Object.entries(settings).map(([flag, value]) => [variableOf(flag), String(value)]));

const variableOf = (flag: string): string => `KINORA_${flag.slice(2).toUpperCase().replaceAll('-', '_')}`;

/** What commander throws, as a sentence that starts with the command. */
const reject = (parser: Parser, error: CommanderError): never => {
  if (error.exitCode === 0) throw error;
  const line = pathOf(parser);
  if (error.code === 'commander.help') {
    const names = parser.commands.map((one) => one.name()).join(', ');
    throw usageError(
      parser.parent ? `${line} needs one of: ${names}.` : 'A command is required; kinora --help lists all commands.',
    );
  }
  const [, suggestion] = /\(Did you mean (?:one of )?(.+)\?\)/.exec(error.message) ?? [];
  const [, quoted] = /'([^']*)'/.exec(error.message) ?? [];
  if (error.code === 'commander.unknownOption') {
    throw usageError(
      suggestion
        ? `${line} has no flag ${quoted}; did you mean ${suggestion}?`
        : `${line} has no flag ${quoted}; ${line} --help lists its flags.`,
    );
  }
  if (error.code === 'commander.unknownCommand') {
    throw usageError(
      suggestion
        ? `${line} ${quoted} is not a command; did you mean ${line} ${suggestion}?`
        : `${line} ${quoted} is not a command; ${line} --help lists all of them.`,
    );
  }
  const sentence = error.message.replace(/^error: /, '').replace(/\.?$/, '.');
  throw usageError(`${sentence[0]!.toUpperCase()}${sentence.slice(1)} Usage: ${line} ${parser.usage()}`);
};

const pathOf = (parser: Parser): string =>
  parser.parent ? `${pathOf(parser.parent)} ${parser.name()}` : parser.name();
