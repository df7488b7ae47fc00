import { terminalJson, terminalLine, terminalText } from '../../lib/terminal-text.js';
import type { Flags } from './command.js';

// Text often comes from others, such as titles and responses, so all output of commands goes
// through these functions.

export const print = (text: string): void => {
  process.stdout.write(`${terminalText(text)}\n`);
};

/** Messages and questions, on standard error. */
export const printError = (text: string): void => {
  process.stderr.write(`${terminalText(text)}\n`);
};

/** One value over several lines. */
export const printJson = (value: unknown): void => printJsonLine(JSON.stringify(value, null, 2));

/** A line that is JSON already. */
export const printJsonLine = (json: string): void => {
  process.stdout.write(`${terminalJson(json)}\n`);
};

/** Columns are as wide as their longest cell. */
export const printTable = (cells: readonly (readonly string[])[]): void => {
  const rows = cells.map((row) => row.map(terminalLine));
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  for (const row of rows)
    print(
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    );
};

/** The data as JSON with `--json`, otherwise as a table. */
export const printRows = <T>(
  flags: Flags,
  data: readonly T[],
  header: readonly string[],
  row: (item: T) => readonly string[],
): void => {
  if (flags['--json']) printJson(data);
  else printTable([header, ...data.map(row)]);
};

/** One thing as JSON with `--json`, otherwise a line for each field that is set. */
export const printFields = (
  flags: Flags,
  data: object,
  fields: Readonly<Record<string, string | undefined>> = textFields(data),
): void => {
  if (flags['--json']) {
    printJson(data);
    return;
  }
  printTable(Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined));
};

const textFields = (data: object): Record<string, string> =>
  Object.fromEntries(
    Object.entries(data).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
