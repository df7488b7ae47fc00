import { expect, it } from 'vitest';
import { isLanguageCode } from './language-code.js';

it.each([
  ...['en', 'EN', 'fr-CA', 'es-419', 'zh-Hant-TW', 'zh-yue-HK', 'sr-Latn', 'de-CH-1901', 'sl-rozaj-biske', 'und'],
  ...['en-u-ca-gregory', 'en-a-bbb-x-a-ccc', 'x-whatever', 'de-1996-u-co-phonebk-t-en', 'i-klingon', 'en-GB-oed'],
])('%s is a language code', (text) => expect(isLanguageCode(text)).toBe(true));

it.each([
  ...['', 'e', 'en_US', 'auto', 'english', 'en-', '-en', 'en--US', 'en-US-', 'en US', 'français', 'en-a', 'x', 'x-'],
  ...['de-1996-1996', 'en-u-ca-x1-u-nu', 'en-abcdefghi', 'i-nothing', '12', 'en-US-GB'],
])('%j is none', (text) => expect(isLanguageCode(text)).toBe(false));
