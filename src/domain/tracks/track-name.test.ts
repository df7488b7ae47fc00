import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isLanguageCode } from '../requests/language-code.js';
import { claimName, languageName } from './track-name.js';

test.each([
  ['fr', 'French'],
  ['en-US', 'English (United States)'],
  ['zh-Hant', 'Chinese (Traditional)'],
  ['es-419', 'Spanish (Latin America)'],
  ['und', 'und'],
  ['qaa', 'qaa'],
  ['x-own', 'x-own'],
  ['en-GB-oed', 'English (United Kingdom, Oxford English Dictionary spelling)'],
])('%s is called %s', (code, name) => expect(languageName(code)).toBe(name));

test('every code has a name', () => {
  const parts = fc.constantFrom(
    'en',
    'x',
    'zh',
    'Hant',
    'US',
    '419',
    'i',
    'klingon',
    '1996',
    'u',
    'co',
    'a',
    'sgn',
    'BE-FR',
  );
  fc.assert(
    fc.property(fc.array(parts, { minLength: 1, maxLength: 5 }), (chosen) => {
      const code = chosen.join('-');
      fc.pre(isLanguageCode(code));
      expect(languageName(code)).not.toBe('');
    }),
    { numRuns: 500 },
  );
});

test('a name that is taken gets a number', () => {
  const taken = new Set(['French', 'French (2)']);
  expect([claimName('French', taken), claimName('French', taken), claimName('German', taken)]).toEqual([
    'French (3)',
    'French (4)',
    'German',
  ]);
});
