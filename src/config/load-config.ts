import { parseEnv } from 'node:util';
import { KinoraError } from '../lib/errors.js';
import type { Environment } from './environment.js';
import { nearest } from './nearest.js';
import { type Config, flagOf, type Option, options } from './options.js';

export interface ConfigSources {
  /** Without the program's and script's names. */
  readonly argv: readonly string[];
  readonly env: Environment;
  readonly envFileText?: string | undefined;
  /** Flags that belong to commands, not to the options: `true` when the flag takes a value. */
  readonly commandFlags?: Readonly<Record<string, boolean>>;
}

export interface LoadedConfig {
  readonly config: Config;
  /** What is neither an option nor a flag, in order: command, subcommand, arguments. */
  readonly rest: readonly string[];
  /** The command flags that were given, with `true` for those without a value. */
  readonly flags: Readonly<Record<string, string | true>>;
}

const table: ReadonlyMap<string, Option> = new Map(
  (Object.values(options) as readonly Option[]).map((option) => [option.variable, option]),
);
const variableOfFlag: ReadonlyMap<string, string> = new Map(
  [...table.keys()].map((variable) => [flagOf(variable), variable]),
);

interface Given {
  readonly text: string;
  /** How the person named it, for messages. */
  readonly name: string;
}

/**
 * Flag beats environment beats `.env` beats default. An empty value counts as not set.
 * @throws KinoraError `config_invalid` with one message for each problem; messages never repeat a secret
 */
export const loadConfig = (sources: ConfigSources): LoadedConfig => {
  const problems: string[] = [];
  const fromArgv = readArgv(sources.argv, sources.commandFlags ?? {}, problems);
  const fromFile = sources.envFileText === undefined ? {} : parseEnv(sources.envFileText);
  const given = new Map<string, Given>([
    ...readVariables(fromFile, ' in .env', problems),
    ...readVariables(sources.env, '', problems),
    ...fromArgv.given,
  ]);
  const config = Object.fromEntries(
    Object.entries(options as Record<string, Option>)
      .map(([key, option]) => [key, readOption(option, given.get(option.variable), problems)] as const)
      .filter(([, value]) => value !== undefined),
  );
  if (problems.length > 0) throw new KinoraError('config_invalid', { messages: problems });
  return { config: config as unknown as Config, rest: fromArgv.rest, flags: fromArgv.flags };
};

const readOption = (option: Option, given: Given | undefined, problems: string[]): unknown => {
  if (given === undefined) {
    return option.default === undefined ? option.computed?.value() : option.kind.parse(option.default);
  }
  try {
    return option.kind.parse(given.text);
  } catch (error) {
    problems.push(`${given.name} ${(error as Error).message}.`);
    return undefined;
  }
};

const readVariables = (env: Environment, where: string, problems: string[]): [string, Given][] =>
  Object.entries(env).flatMap(([variable, text]): [string, Given][] => {
    if (!variable.startsWith('KINORA_')) return [];
    if (!table.has(variable)) {
      problems.push(
        `${variable}${where} is not an option of Kinora; did you mean ${nearest(variable, [...table.keys()])}?`,
      );
      return [];
    }
    return text === undefined || text === '' ? [] : [[variable, { text, name: `${variable}${where}` }]];
  });

const readArgv = (argv: readonly string[], commandFlags: Readonly<Record<string, boolean>>, problems: string[]) => {
  const given = new Map<string, Given>();
  const flags: Record<string, string | true> = {};
  const rest: string[] = [];
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index]!;
    if (word === '--') {
      rest.push(...argv.slice(index + 1));
      break;
    }
    if (!word.startsWith('-') || word === '-') {
      rest.push(word);
      continue;
    }
    const equals = word.indexOf('=');
    const flag = equals < 0 ? word : word.slice(0, equals);
    const variable = variableOfFlag.get(flag);
    const takesValue = variable === undefined ? commandFlags[flag] : true;
    if (takesValue === undefined) {
      const known = [...variableOfFlag.keys(), ...Object.keys(commandFlags)];
      problems.push(`${flag} is not a flag of Kinora; did you mean ${nearest(flag, known)}?`);
      continue;
    }
    let text = equals < 0 ? undefined : word.slice(equals + 1);
    if (text === undefined && takesValue) {
      text = valueAfter(variable, argv[index + 1]);
      if (text === undefined) text = bareValue(variable);
      else index++;
    }
    if (takesValue && (text === undefined || text === '')) problems.push(`${flag} needs a value.`);
    else if (!takesValue && text !== undefined) problems.push(`${flag} takes no value.`);
    else if (variable === undefined) flags[flag] = text ?? true;
    else given.set(variable, { text: text!, name: flag });
  }
  return { given, flags, rest };
};

const bareValue = (variable: string | undefined): string | undefined =>
  variable === undefined ? undefined : table.get(variable)!.kind.bare;

/** The next word when it is the flag's value. A flag that may stand alone takes it only when it is a valid value. */
const valueAfter = (variable: string | undefined, next: string | undefined): string | undefined => {
  if (next === undefined) return undefined;
  if (bareValue(variable) === undefined) return next.startsWith('--') ? undefined : next;
  try {
    table.get(variable!)!.kind.parse(next);
    return next;
  } catch {
    // Not a value of this flag, so the flag stands alone and the word is an argument.
    return undefined;
  }
};
