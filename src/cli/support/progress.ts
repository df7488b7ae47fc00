import { terminalLine } from '../../lib/terminal-text.js';

const BAR_CHARACTERS = 24;

/** Shows how long work proceeds, on standard error. */
export interface Progress {
  /** A state in words. */
  show(text: string): void;
  /** @param share from 0 to 1 */
  bar(text: string, share: number): void;
  end(): void;
}

/** On a terminal, one line that is updated in place; elsewhere, a line for each new state. */
export const createProgress = (): Progress => {
  const { isTTY, columns = 80 } = process.stderr;
  let last = '';
  const show = (text: string): void => {
    // A line that wraps could not be replaced.
    const line = terminalLine(isTTY ? text.slice(0, columns - 1) : text);
    if (line !== last) process.stderr.write(isTTY ? `\r\x1b[K${line}` : `${line}\n`);
    last = line;
  };
  return {
    show,
    bar: (text, share) => {
      const percent = `${Math.floor(share * 100)} %`;
      const filled = Math.floor(share * BAR_CHARACTERS);
      const bar = `${'█'.repeat(filled)}${'░'.repeat(BAR_CHARACTERS - filled)} `;
      show(`${text} ${isTTY ? bar : ''}${percent}`);
    },
    end: () => {
      if (isTTY && last !== '') process.stderr.write('\n');
      last = '';
    },
  };
};
