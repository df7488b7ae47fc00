import { expect, it } from 'vitest';
import { createLineReader } from './line-reader.js';

it('joins pieces to lines, and gives up on a line that never ends', () => {
  const lines: string[] = [];
  let overflows = 0;
  const read = createLineReader(
    5,
    (line) => lines.push(line),
    () => {
      overflows += 1;
    },
  );
  for (const chunk of ['a', 'b\nc', '\n', '\nde', 'fgh', 'i', 'j\n']) read(chunk);
  expect(lines).toEqual(['ab', 'c', '']);
  expect(overflows).toBe(1);
});
