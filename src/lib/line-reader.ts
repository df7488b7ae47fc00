/**
 * Splits text into lines. A line longer than `maxCharacters` is never stored: `onOverflow` is
 * called instead and the rest is dropped.
 */
export const createLineReader = (
  maxCharacters: number,
  onLine: (line: string) => void,
  onOverflow: () => void,
): ((chunk: string) => void) => {
  let rest = '';
  let isBroken = false;
  return (chunk) => {
    if (isBroken) return;
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
    if (rest.length > maxCharacters) {
      isBroken = true;
      rest = '';
      onOverflow();
    }
  };
};
