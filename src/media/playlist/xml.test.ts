import { DOMParser } from '@xmldom/xmldom';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { element, textElement, xmlDocument } from './xml.js';

const parse = (text: string) =>
  new DOMParser({
    onError: (level, message) => {
      // The parser rejects U+FFFD, although it is a valid character.
      if (level !== 'warning') throw new Error(`${level}: ${message}`);
    },
  }).parseFromString(text, 'text/xml').documentElement!;

test('elements hold elements or text; what is undefined is left out', () => {
  const inner = textElement('b', { c: 1, d: undefined }, 'x < y');
  expect(xmlDocument(element('a', {}, undefined, inner, element('e', { f: '"' })))).toBe(
    '<?xml version="1.0" encoding="UTF-8"?>\n<a>\n<b c="1">x &#60; y</b>\n<e f="&#34;"/>\n</a>\n',
  );
});

test('any text and any attribute is well-formed XML and is read back', () => {
  const texts = fc.oneof(
    fc.array(fc.integer({ min: 0, max: 0xffff })).map((codes) => String.fromCharCode(...codes)),
    fc.constantFrom(']]>', '<!--', '&amp;', '\u0000', '\ud800', '\udc00x', '\ufffe', '\u0085', '\r\n\t'),
  );
  fc.assert(
    fc.property(texts, texts, (attribute, text) => {
      const read = parse(xmlDocument(textElement('a', { b: attribute }, text)));
      const shown = (value: string) => value.replace(/[\p{Cc}\p{Cs}\u2028\u2029\ufffe\uffff]+/gu, ' ');
      expect([read.getAttribute('b'), read.textContent]).toEqual([shown(attribute), shown(text)]);
    }),
  );
});
