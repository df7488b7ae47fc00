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
  /** Arguments that are neither options nor flags, in order: command, subcommand, arguments. */
  readonly rest: readonly string[];
  /** The command flags that were given, with `true` for those without a value. */
  readonly flags: Readonly<Record<string, string | true>>;
  /** Arguments that follow a flag which may stand alone, and why they are not its value. */
  readonly doubts: readonly Doubt[];
}

interface Doubt {
  readonly word: string;
  readonly message: string;
}

const table: ReadonlyMap<string, Option> = new Map(
  (Object.values(options) as readonly Option[]).map((option) => [option.variable, option]),
);
const variableOfFlag: ReadonlyMap<string, string> = new Map(
  [...table.keys()].map((variable) => [flagOf(variable), variable]),
);

interface Given {
  readonly text: string;
  /** The name as the user wrote it, for messages. */
  readonly name: string;
}

/**
 * Flags override the environment, which overrides `.env`, which overrides defaults. An empty value counts as not set.
 * @throws KinoraError `config_invalid` with one message for each problem; messages never repeat a secret
 */
export const loadConfig = (sources: ConfigSources): LoadedConfig => {
  const problems: string[] = [];
  const fromArgv = readArgv(sources.argv, sources.commandFlags ?? {}, problems);
  const { envFileText = '' } = sources;
  problems.push(...findNoAssignments(envFileText));
  const fromFile = parseEnv(envFileText);
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
  if (problems.length === 0 && (config.webhookUrl === undefined) !== (config.webhookSecret === undefined))
    problems.push('KINORA_WEBHOOK_URL and KINORA_WEBHOOK_SECRET must be set together.');
  if (config.speechUrl !== undefined && config.speechCommand !== undefined)
    problems.push('KINORA_SPEECH_URL and KINORA_SPEECH_COMMAND cannot be combined: set only one of them.');
  if (config.speechCommand !== undefined && config.speechModel !== undefined)
    problems.push('KINORA_SPEECH_COMMAND and KINORA_SPEECH_MODEL cannot be combined: set only one of them.');
  if (config.speechKey !== undefined && config.speechUrl === undefined)
    problems.push('KINORA_SPEECH_KEY has no effect without KINORA_SPEECH_URL.');
  const hasModel = config.aiModel !== undefined || config.aiVisionModel !== undefined;
  if (problems.length === 0 && (config.aiUrl !== undefined) !== hasModel)
    problems.push('KINORA_AI_URL and KINORA_AI_MODEL or KINORA_AI_VISION_MODEL must be set together.');
  if (problems.length > 0) throw new KinoraError('config_invalid', { messages: problems });
  return { config: config as unknown as Config, rest: fromArgv.rest, flags: fromArgv.flags, doubts: fromArgv.doubts };
};

/** Finds the invalid lines of `.env`. Never repeats a line, because it may contain a secret. */
const findNoAssignments = (text: string): string[] => {
  const problems: string[] = [];
  let openQuote: string | undefined;
  const lines = text.split(/\r?\n/);
  for (const [index, line] of lines.entries()) {
    if (openQuote !== undefined) {
      if (line.includes(openQuote)) openQuote = undefined;
      continue;
    }
    if (/^\s*(#|$)/.test(line)) continue;
    const [assignment, quote] = /^\s*(?:export\s+)?[\w.-]+\s*=\s*(["'`]?)/.exec(line) ?? [];
    if (assignment === undefined)
      problems.push(`Line ${index + 1} of .env is not an assignment; write NAME=value, or start the line with #.`);
    // A quoted value may span several lines; a quote that is never closed is part of its line.
    else if (quote && !line.slice(assignment.length).includes(quote))
      openQuote = lines.slice(index + 1).some((later) => later.includes(quote)) ? quote : undefined;
  }
  return problems;
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
  const doubts: Doubt[] = [];
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
      const next = argv[index + 1];
      const doubt = next === undefined ? undefined : doubtOf(variable, flag, next);
      if (doubt) doubts.push(doubt);
      text = doubt || next?.startsWith('--') ? undefined : next;
      if (text === undefined) text = bareValue(variable);
      else index++;
    }
    if (takesValue && (text === undefined || text === '')) problems.push(`${flag} needs a value.`);
    else if (!takesValue && text !== undefined) problems.push(`${flag} takes no value.`);
    else if (variable === undefined) flags[flag] = text ?? true;
    else given.set(variable, { text: text!, name: flag });
  }
  return { given, flags, rest, doubts };
};

const bareValue = (variable: string | undefined): string | undefined =>
  variable === undefined ? undefined : table.get(variable)!.kind.bare;

/** A flag that may stand alone takes the next word only if that is a valid value; otherwise returns why it is not. */
const doubtOf = (variable: string | undefined, flag: string, next: string): Doubt | undefined => {
  if (bareValue(variable) === undefined || next.startsWith('--')) return undefined;
  try {
    table.get(variable!)!.kind.parse(next);
    return undefined;
  } catch (error) {
    return { word: next, message: `${flag} ${(error as Error).message}.` };
  }
};
