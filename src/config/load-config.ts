import { parseEnv } from 'node:util';
import { KinoraError } from '../lib/errors.js';
import type { Environment } from './environment.js';
import { nearest } from './nearest.js';
import { type Config, flagOf, type Option, options } from './options.js';

export interface ConfigSources {
  /** Options that were given as flags, by variable. */
  readonly flags?: Readonly<Record<string, string>>;
  readonly env: Environment;
  readonly envFileText?: string | undefined;
}

const table: ReadonlyMap<string, Option> = new Map(
  (Object.values(options) as readonly Option[]).map((option) => [option.variable, option]),
);

interface Given {
  readonly text: string;
  /** The name as the user wrote it, for messages. */
  readonly name: string;
}

/**
 * Flags override the environment, which overrides `.env`, which overrides defaults. An empty value
 * counts as not set.
 * @throws KinoraError `config_invalid` with one message for each problem; messages never repeat a
 * secret
 */
export const loadConfig = (sources: ConfigSources): { readonly config: Config } => {
  const problems: string[] = [];
  const { envFileText = '' } = sources;
  problems.push(...findNoAssignments(envFileText));
  const fromFile = parseEnv(envFileText);
  const rawValues = new Map<string, Given>([
    ...readVariables(fromFile, ' in .env', problems),
    ...readVariables(sources.env, '', problems),
    ...readFlags(sources.flags ?? {}, problems),
  ]);
  const config = Object.fromEntries(
    Object.entries(options as Record<string, Option>)
      .map(([key, option]) => [key, readOption(option, rawValues.get(option.variable), problems)] as const)
      .filter(([, value]) => value !== undefined),
  );
  if (problems.length === 0 && (config.webhookUrl === undefined) !== (config.webhookSecret === undefined))
    problems.push('KINORA_WEBHOOK_URL and KINORA_WEBHOOK_SECRET must be set together.');
  if (problems.length === 0 && (config.s3AccessKeyId === undefined) !== (config.s3SecretAccessKey === undefined))
    problems.push('KINORA_S3_ACCESS_KEY_ID and KINORA_S3_SECRET_ACCESS_KEY must be set together.');
  const usesS3 = config.blobs !== 'file' || config.sourceBuckets !== undefined;
  if (problems.length === 0 && !usesS3 && (config.s3Endpoint ?? config.s3AccessKeyId) !== undefined)
    problems.push(
      'KINORA_S3_ENDPOINT and KINORA_S3_ACCESS_KEY_ID have no effect without KINORA_BLOBS=s3://bucket/prefix or KINORA_SOURCE_BUCKETS.',
    );
  const rtmpsFiles = [config.rtmpsCert, config.rtmpsKey].filter((path) => path !== undefined).length;
  if (problems.length === 0 && rtmpsFiles !== (config.rtmpsPort === 'off' ? 0 : 2))
    problems.push('KINORA_RTMPS_PORT, KINORA_RTMPS_CERT and KINORA_RTMPS_KEY must be set together.');
  if (config.speechUrl !== undefined && config.speechCommand !== undefined)
    problems.push('KINORA_SPEECH_URL and KINORA_SPEECH_COMMAND cannot be combined: set only one of them.');
  if (config.speechCommand !== undefined && config.speechModel !== undefined)
    problems.push('KINORA_SPEECH_COMMAND and KINORA_SPEECH_MODEL cannot be combined: set only one of them.');
  if (config.speechKey !== undefined && config.speechUrl === undefined)
    problems.push('KINORA_SPEECH_KEY has no effect without KINORA_SPEECH_URL.');
  const hasModel = config.aiModel !== undefined || config.aiVisionModel !== undefined;
  if (problems.length === 0 && (config.aiUrl !== undefined) !== hasModel)
    problems.push('KINORA_AI_URL and KINORA_AI_MODEL or KINORA_AI_VISION_MODEL must be set together.');
  if (problems.length === 0) problems.push(...findEdgeProblems(config as unknown as Config));
  if (problems.length > 0) throw new KinoraError('config_invalid', { messages: problems });
  return { config: config as unknown as Config };
};

const findEdgeProblems = ({ roles, edgeOrigin, edgeSecret }: Config): string[] => {
  if (!roles.includes('edge'))
    return edgeOrigin === undefined ? [] : ['KINORA_EDGE_ORIGIN has no effect without KINORA_ROLES=edge.'];
  if (roles.length > 1) return ['KINORA_ROLES: an edge has no other role, because it has no database.'];
  if (edgeOrigin === undefined) return ['KINORA_ROLES=edge needs KINORA_EDGE_ORIGIN, the URL of the server to cache.'];
  if (edgeSecret !== undefined) return [];
  return ['KINORA_ROLES=edge needs KINORA_EDGE_SECRET: set it to the same value on this server and its origin.'];
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

const readOption = (option: Option, rawValue: Given | undefined, problems: string[]): unknown => {
  if (rawValue === undefined) {
    return option.default === undefined ? option.computed?.value() : option.kind.parse(option.default);
  }
  try {
    return option.kind.parse(rawValue.text);
  } catch (error) {
    problems.push(`${rawValue.name} ${(error as Error).message}.`);
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

const readFlags = (flags: Readonly<Record<string, string>>, problems: string[]): [string, Given][] =>
  Object.entries(flags).flatMap(([variable, text]): [string, Given][] => {
    const name = flagOf(variable);
    if (text !== '') return [[variable, { text, name }]];
    problems.push(`${name} needs a value.`);
    return [];
  });
