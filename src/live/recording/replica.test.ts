import { expect, it } from 'vitest';
import { chooseChunks } from './replica.js';

/** `term:offset+size`. */
const chosen = (...names: string[]): string[] => {
  const listed = names.map((key) => {
    const [term, offset, sizeBytes] = key.split(/[:+]/).map(Number);
    return { key, term: term!, offset: offset!, sizeBytes: sizeBytes! };
  });
  return chooseChunks(listed).map(({ term, offset, sizeBytes }) => `${term}:${offset}+${sizeBytes}`);
};

it('takes what follows from the start of the file', () => {
  expect(chosen('1:5+3', '1:0+5', '1:8+2')).toEqual(['1:0+5', '1:5+3', '1:8+2']);
  expect(chosen('1:0+5', '1:6+3')).toEqual(['1:0+5']);
  expect(chosen('1:3+5')).toEqual([]);
  expect(chosen()).toEqual([]);
});

it('drops what a server wrote after another one had taken the recording over', () => {
  expect(chosen('1:0+5', '1:5+3', '2:5+4', '1:8+9', '2:9+1')).toEqual(['1:0+5', '2:5+4', '2:9+1']);
  // The record at the end of a chunk was not whole.
  expect(chosen('1:0+5', '2:4+4', '1:5+9')).toEqual(['1:0+4', '2:4+4']);
  expect(chosen('1:0+5', '2:5+4', '3:2+1', '1:5+7')).toEqual(['1:0+2', '3:2+1']);
  expect(chosen('1:0+5', '2:0+7', '1:5+5')).toEqual(['2:0+7']);
});
