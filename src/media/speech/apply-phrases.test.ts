import { expect, test } from 'vitest';
import { applyPhrases } from './apply-phrases.js';

const spoken = (text: string) =>
  text.split(' ').map((word, at) => ({ startMs: at * 100, endMs: at * 100 + 90, text: word }));
const written = (text: string, ...phrases: string[]) =>
  applyPhrases(spoken(text), phrases)
    .map((word) => word.text)
    .join(' ');

test.each([
  ['we use kinora, mux and hls.', 'we use Kinora, Mux and HLS.'],
  ['“kimora” is it', '“Kinora” is it'],
  ['the golden gait bridge!', 'the Golden Gate Bridge!'],
  ['kinoras and Kinora’s harbors', 'kinoras and Kinora’s harbors'],
  ['nothing of it', 'nothing of it'],
  ['max and hlx', 'max and hlx'],
  ['bimora', 'bimora'],
])('%s', (heard, expected) => {
  expect(written(heard, 'Kinora', 'Mux', 'HLS', 'Golden Gate Bridge', 'harbor')).toBe(expected);
});

test('one phrase is no mistake for another', () => {
  expect(written('marina Martina', 'Marina', 'Martina')).toBe('Marina Martina');
});

test('times stay, and phrases without letters do nothing', () => {
  expect(applyPhrases(spoken('a kinora'), ['…', '', 'Kinora'])).toEqual([
    { startMs: 0, endMs: 90, text: 'a' },
    { startMs: 100, endMs: 190, text: 'Kinora' },
  ]);
});
