import { terminalLine } from '../../lib/terminal-text.js';

const BAR_CHARACTERS = 24;

/**
 * Shows on standard error how far a task is. On a terminal, one line that is updated in place; in a
 * log, a line for each new state.
 */
export class Progress {
  readonly #isTerminal = process.stderr.isTTY;
  readonly #columns = process.stderr.columns ?? 80;
  #last = '';

  /** A state in words. */
  show(text: string): void {
    // A line that wraps could not be replaced.
    const line = terminalLine(this.#isTerminal ? text.slice(0, this.#columns - 1) : text);
    if (line !== this.#last) process.stderr.write(this.#isTerminal ? `\r\x1b[K${line}` : `${line}\n`);
    this.#last = line;
  }

  /** @param share from 0 to 1 */
  bar(text: string, share: number): void {
    const percent = `${Math.floor(share * 100)} %`;
    const filled = Math.floor(share * BAR_CHARACTERS);
    const bar = `${'█'.repeat(filled)}${'░'.repeat(BAR_CHARACTERS - filled)} `;
    this.show(`${text} ${this.#isTerminal ? bar : ''}${percent}`);
  }

  end(): void {
    if (this.#isTerminal && this.#last !== '') process.stderr.write('\n');
    this.#last = '';
  }
}
