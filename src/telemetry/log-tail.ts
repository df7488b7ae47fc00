import type { DestinationStream } from 'pino';

const MAX_LINES = 1000;

/** The latest lines of a log, which `kinora logs` reads from the running server. */
export class LogTail {
  readonly #maxLines: number;
  readonly #lines: string[] = [];
  readonly #waiting = new Set<() => void>();
  /** Number of lines that were ever written. */
  #written = 0;

  constructor(maxLines = MAX_LINES) {
    this.#maxLines = maxLines;
  }

  /** Passes lines on and keeps them. */
  tee(stream: DestinationStream): DestinationStream {
    return {
      write: (line: string) => {
        stream.write(line);
        this.#add(line.trimEnd());
      },
    };
  }

  /**
   * Lines after a position, and the position after them. A position of before the oldest kept line
   * starts there.
   */
  read(after: number): { readonly lines: readonly string[]; readonly next: number } {
    const missed = Math.max(0, this.#written - after);
    return { lines: missed === 0 ? [] : this.#lines.slice(-missed), next: this.#written };
  }

  /** Resolves when there is a line after the position, or when `until` settles. */
  wait(after: number, until: Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      if (after < this.#written) {
        resolve();
        return;
      }
      this.#waiting.add(resolve);
      void until.then(() => {
        this.#waiting.delete(resolve);
        resolve();
      });
    });
  }

  #add(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length > this.#maxLines) this.#lines.shift();
    this.#written += 1;
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}
