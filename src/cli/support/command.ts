import type { Config } from '../../config/options.js';
import { KinoraError } from '../../lib/errors.js';
import type { Logger } from '../../telemetry/logger.js';

export interface CommandContext {
  readonly config: Config;
  /** As many as the command declares. */
  readonly args: readonly string[];
  /** The command's own flags that were given. */
  readonly flags: Readonly<Record<string, string | true>>;
  readonly logger: Logger;
}

export interface Command {
  readonly summary: string;
  /** Names of the arguments, all of which are required. */
  readonly args: readonly string[];
  /** Flags of the command with their descriptions; each takes a value. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Flags without a value, with their descriptions. */
  readonly switches?: Readonly<Record<string, string>>;
  /** Resolves to the exit status. Results go to standard output, everything else to standard error. */
  run(context: CommandContext): Promise<number>;
}

/** An error in the command line: exit status 2. */
export const usageError = (message: string): KinoraError => new KinoraError('config_invalid', { messages: [message] });

export const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

/** Columns are as wide as their longest cell. Control characters, which titles may contain, become spaces. */
export const printTable = (cells: readonly (readonly string[])[]): void => {
  const rows = cells.map((row) => row.map((cell) => cell.replaceAll(/\p{Cc}/gu, ' ')));
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  for (const row of rows)
    print(
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    );
};
