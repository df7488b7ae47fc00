import type { Config } from '../../config/options.js';
import { KinoraError } from '../../lib/errors.js';

export interface CommandContext {
  readonly config: Config;
  /** In the order of the command line. An optional or repeated argument can be absent. */
  readonly args: readonly string[];
  /** The command's own flags that were given, by long name; `true` for those without a value. */
  readonly flags: Flags;
}

export type Flags = Readonly<Record<string, string | true>>;

export interface Flag {
  readonly doc: string;
  /** Any other value is refused; the shell completes these. */
  readonly choices: readonly string[];
}

export interface Command {
  /** One line without a period. */
  readonly summary: string;
  /**
   * Arguments as the usage line has them: `<id>` is required, `[id]` optional; `...` allows
   * several.
   */
  readonly args: readonly string[];
  /** By name, with a placeholder if the flag takes a value: `--title <text>`, `--json`. */
  readonly flags?: Readonly<Record<string, string | Flag>>;
  /** The options of the server (`KINORA_...`) that are flags of the command too. */
  readonly settings: readonly Setting[];
  /** Command lines as a user types them. A test runs all of them. */
  readonly examples: readonly string[];
  /**
   * Resolves to the exit status. Results go to standard output, everything else to standard error.
   */
  run(context: CommandContext): Promise<number>;
}

export type Setting = keyof Config & string;

/** Commands that call the API of a server. */
export const apiSettings = ['dataDir', 'host', 'port', 'publicUrl', 'streamUrl', 'token'] as const;
/** Commands that use the database, through the running server or without one. */
export const dataSettings = ['dataDir', 'databaseUrl'] as const;
/** Where blobs are. */
export const blobSettings = [
  'blobs',
  's3Endpoint',
  's3Region',
  's3AccessKeyId',
  's3SecretAccessKey',
  's3PathStyle',
] as const;

/** The flag of every command that prints data. */
export const json = { '--json': 'print JSON' } as const;

/** An error in the command line: exit status 2. */
export const usageError = (message: string): KinoraError => new KinoraError('config_invalid', { messages: [message] });

/** The value of a flag, undefined when it is absent. */
export const textOf = (flags: Flags, name: string): string | undefined => {
  const value = flags[name];
  return typeof value === 'string' ? value : undefined;
};

/**
 * The value of a flag that takes a whole number, undefined when it is absent.
 * @throws KinoraError `config_invalid`
 */
export const wholeNumberOf = (flags: Flags, name: string, min: number, max: number): number | undefined => {
  const text = textOf(flags, name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw usageError(`${name} must be a whole number from ${min} to ${max}, not ${JSON.stringify(text)}.`);
};
