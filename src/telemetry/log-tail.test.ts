import { describe, expect, it } from 'vitest';
import { LogTail } from './log-tail.js';

const never = new Promise<void>(() => undefined);

describe('LogTail', () => {
  it('passes lines on and keeps the latest', () => {
    const passed: string[] = [];
    const tail = new LogTail(2);
    const stream = tail.tee({ write: (line) => void passed.push(line) });
    for (const line of ['a\n', 'b\n', 'c\n']) stream.write(line);
    expect(passed).toEqual(['a\n', 'b\n', 'c\n']);
    expect(tail.read(0)).toEqual({ lines: ['b', 'c'], next: 3 });
    expect(tail.read(2)).toEqual({ lines: ['c'], next: 3 });
    expect(tail.read(3)).toEqual({ lines: [], next: 3 });
  });

  it('waits for the next line, or until its reader has gone', async () => {
    const tail = new LogTail();
    const stream = tail.tee({ write: () => undefined });
    const next = tail.wait(0, never);
    stream.write('a\n');
    await next;
    await tail.wait(0, never);
    await tail.wait(1, Promise.resolve());
  });
});
