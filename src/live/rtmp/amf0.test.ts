import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Amf0Value, readAmf0, writeAmf0 } from './amf0.js';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

describe('readAmf0', () => {
  it.each<[string, string, Amf0Value[]]>([
    ['number', '00 3ff8000000000000', [1.5]],
    ['boolean', '01 01 01 00', [true, false]],
    ['text', '02 0002 6869', ['hi']],
    ['long text', '0c 00000002 6869', ['hi']],
    ['null, undefined, unsupported', '05 06 0d', [null, undefined, undefined]],
    ['object', '03 0001 61 05 0000 09', [new Map([['a', null]])]],
    ['object of a class', '10 0001 43 0001 61 05 0000 09', [new Map([['a', null]])]],
    ['ECMA array with a wrong count', '08 00000000 0001 61 0101 0000 09', [new Map([['a', true]])]],
    ['strict array', '0a 00000002 05 0101', [[null, true]]],
    ['date', '0b 4059000000000000 0000', [100]],
    ['name of a built-in property', '03 0009 5f5f70726f746f5f5f 05 0000 09', [new Map([['__proto__', null]])]],
  ])('reads: %s', (_, text, expected) => {
    expect(readAmf0(hex(text))).toEqual(expected);
  });

  it.each([
    ['a number that is cut off', '00 3ff8'],
    ['a text that is cut off', '02 0005 6869'],
    ['an object without an end', '03 0001 61 05'],
    ['a reference', '07 0000'],
    ['AMF3', '11 01'],
    ['an array that is longer than the message', '0a ffffffff 05'],
    ['objects that are too deep', `${'03 0001 61 '.repeat(10)}`],
    ['too many values', '05'.repeat(2001)],
  ])('refuses: %s', (_, text) => {
    expect(() => readAmf0(hex(text))).toThrow(/AMF0/);
  });

  it('reads what writeAmf0 writes', () => {
    const { value } = fc.letrec<{ value: Amf0Value }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3, withCrossShrink: true },
        fc.double({ noNaN: true }),
        fc.boolean(),
        fc.string({ unit: 'grapheme' }),
        fc.constantFrom(null, undefined),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.array(fc.tuple(fc.string({ minLength: 1 }), tie('value')), { maxLength: 4 }).map((pairs) => new Map(pairs)),
      ),
    }));
    fc.assert(
      fc.property(fc.array(value, { maxLength: 4 }), (values) => {
        expect(readAmf0(writeAmf0(...values))).toEqual(values);
      }),
    );
  });

  it('fails in one way only', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(0, 1, 2, 3, 5, 8, 9, 10, 12, 97, 255)), (bytes) => {
        try {
          readAmf0(Buffer.from(bytes));
        } catch (error) {
          expect(error).toMatchObject({ code: 'invalid_parameters' });
        }
      }),
      { numRuns: 1000 },
    );
  });
});
