import { expect, test } from 'vitest';
import { metadataJson } from './metadata-json.js';

test('metadata.json carries the title twice and the duration', () => {
  expect(metadataJson('Harbour walk', 42.375)).toEqual([
    {
      metadata: [{ key: 'title', value: 'Harbour walk' }],
      titles: [{ language: 'und', title: 'Harbour walk' }],
      'start-time': 0,
      duration: 42.375,
    },
  ]);
});

test('without title it is one empty element', () => {
  expect(metadataJson(undefined, 42.375)).toEqual([{ metadata: [], titles: [] }]);
});
