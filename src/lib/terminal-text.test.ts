import { describe, expect, it } from 'vitest';
import { plainJson, terminalJson, terminalLine, terminalText } from './terminal-text.js';

const RANGES = [
  [0x00, 0x1f],
  [0x7f, 0x9f],
  [0x2028, 0x202e],
  [0x2066, 0x2069],
] as const;
const steering = RANGES.flatMap(([first, last]) =>
  Array.from({ length: last - first + 1 }, (_, index) => String.fromCharCode(first + index)),
);
const shown = ['é', 'א', '\u200d', '\u200f', '👩‍🚀', '\ufe0f', '\\', '"', '\u00a0'];

describe('text of others for a terminal', () => {
  it.each(steering)('has no %j', (char) => {
    const isKept = char === '\n' || char === '\t';
    expect(terminalText(`a${char}b`)).toBe(isKept ? `a${char}b` : 'a b');
    expect(terminalLine(`a${char}b`)).toBe('a b');
    const value = { [`k${char}`]: [`a${char}b\\${char}`] };
    for (const space of [undefined, 2]) {
      const json = terminalJson(JSON.stringify(value, null, space));
      expect(JSON.parse(json)).toEqual(value);
      expect(terminalText(json)).toBe(json);
    }
    const plain = JSON.parse(plainJson(JSON.stringify(value)));
    expect(plain).toEqual(isKept ? value : { 'k ': ['a b\\ '] });
  });

  it.each(shown)('keeps %s', (text) => {
    expect([terminalText(text), terminalLine(text)]).toEqual([text, text]);
    expect(JSON.parse(plainJson(terminalJson(JSON.stringify([text]))))).toEqual([text]);
  });

  it('has line breaks of one character', () => {
    expect(terminalText('a\r\nb\rc')).toBe('a\nb c');
  });
});
