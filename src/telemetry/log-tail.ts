import type { DestinationStream } from 'pino';

/** The latest lines of a log, which `kinora logs` reads from the running server. */
export interface LogTail {
  /** Passes lines on and keeps them. */
  tee(stream: DestinationStream): DestinationStream;
  /** Lines after a position, and the position after them. A position of before the oldest kept line starts there. */
  read(after: number): { readonly lines: readonly string[]; readonly next: number };
  /** Resolves when there is a line after the position, or when `until` settles. */
  wait(after: number, until: Promise<unknown>): Promise<void>;
}

const MAX_LINES = 1000;

export const createLogTail = (maxLines = MAX_LINES): LogTail => {
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  /** Number of lines that were ever written. */
  let written = 0;
  return {
    tee: (stream) => ({
      write: (line: string) => {
        stream.write(line);
        lines.push(line.trimEnd());
        if (lines.length > maxLines) lines.shift();
        written += 1;
        for (const wake of waiting) wake();
        waiting.clear();
      },
    }),
    read: (after) => {
      const missed = Math.max(0, written - after);
      return { lines: missed === 0 ? [] : lines.slice(-missed), next: written };
    },
    wait: (after, until) =>
      new Promise((resolve) => {
        if (after < written) {
          resolve();
          return;
        }
        waiting.add(resolve);
        void until.then(() => {
          waiting.delete(resolve);
          resolve();
        });
      }),
  };
};
