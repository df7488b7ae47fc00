/** The memory of a caption channel: 15 rows of 32 characters. */

interface Cell {
  readonly character: string;
  readonly italic: boolean;
}

export const ROWS = 15;
const COLUMNS = 32;
const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Rows and columns count from 0. What is outside is brought to the nearest place. */
export class CaptionScreen {
  private rows: (Cell | undefined)[][] = Array.from({ length: ROWS }, () => []);

  set(row: number, column: number, cell: Cell): void {
    this.rows[row]![Math.min(column, COLUMNS - 1)] = cell;
  }

  /** Removes the characters of a row from a column on. */
  cut(row: number, column: number): void {
    this.rows[row]!.length = Math.min(this.rows[row]!.length, column);
  }

  remove(row: number, column: number): void {
    if (column < this.rows[row]!.length) this.rows[row]![column] = undefined;
  }

  clear(): void {
    this.rows = Array.from({ length: ROWS }, () => []);
  }

  /** Moves the rows up to `base` up by one, and keeps `count` with the empty one at `base`. */
  roll(base: number, count: number): void {
    const above = this.rows.slice(Math.max(0, base - count + 2), base + 1);
    this.clear();
    this.place(above, base - 1);
  }

  /** Moves the `count` rows above and at `from` to `to`. */
  move(from: number, to: number, count: number): void {
    const shown = this.rows.slice(Math.max(0, from - count + 1), from + 1);
    this.clear();
    this.place(shown, to);
  }

  private place(rows: readonly (Cell | undefined)[][], last: number): void {
    const first = last - rows.length + 1;
    for (const [at, row] of rows.entries()) if (first + at >= 0) this.rows[first + at] = row;
  }

  /** As text of WebVTT: a line for each row that shows something. */
  get text(): string {
    return this.rows.flatMap((row) => textOf(row) || []).join('\n');
  }
}

const textOf = (row: readonly (Cell | undefined)[]): string => {
  let isItalic = false;
  const pieces = Array.from(row, (cell) => {
    if (!cell) return ' ';
    const text = ESCAPES[cell.character] ?? cell.character;
    if (cell.italic === isItalic || cell.character === ' ') return text;
    isItalic = cell.italic;
    return `${isItalic ? '<i>' : '</i>'}${text}`;
  });
  const text = pieces.join('').trim();
  return isItalic ? `${text}</i>` : text;
};
