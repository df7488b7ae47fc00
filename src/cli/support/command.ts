import type { Config } from '../../config/options.js';
import { KinoraError } from '../../lib/errors.js';
import type { Logger } from '../../telemetry/logger.js';

export interface CommandContext {
  readonly config: Config;
  /** As many as the command names. */
  readonly args: readonly string[];
  /** The command's own flags that were given. */
  readonly flags: Readonly<Record<string, string | true>>;
  readonly logger: Logger;
}

export interface Command {
  readonly summary: string;
  /** Names of the arguments, all needed. */
  readonly args: readonly string[];
  /** Flags of its own, each with what it is for; every one takes a value. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Flags that take no value, each with what it is for. */
  readonly switches?: Readonly<Record<string, string>>;
  /** Resolves to the exit status. Answers go to standard output, everything else to standard error. */
  run(context: CommandContext): Promise<number>;
}

/** A mistake in how the program was called: exit status 2. */
export const usageError = (message: string): KinoraError => new KinoraError('config_invalid', { messages: [message] });

export const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

/** Columns as wide as their longest cell. Control characters, which titles may hold, are shown as blanks. */
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
