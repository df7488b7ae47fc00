/** Undefined and null are empty. */
type CsvCell = string | number | undefined | null;

/**
 * A cell is quoted, and text that a spreadsheet would read as a formula begins with an apostrophe.
 */
const cellOf = (value: CsvCell): string => {
  const text = String(value ?? '');
  const plain = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return `"${plain.replaceAll('"', '""')}"`;
};

export const writeCsv = (head: readonly string[], rows: readonly (readonly CsvCell[])[]): string =>
  `${[head, ...rows].map((row) => row.map(cellOf).join(',')).join('\r\n')}\r\n`;

/** @param name of the file, without its extension */
export const downloadCsv = (name: string, csv: string): void => {
  const url = URL.createObjectURL(new Blob([csv], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `${name}.csv`;
  link.click();
  URL.revokeObjectURL(url);
};
