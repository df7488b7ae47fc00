import { expect, test } from 'vitest';
import { listElements, readElement, readUnsigned } from './ebml.js';

const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex'));

test.each([
  ['a short size', 'd7 82 0102', { id: 0xd7, start: 0, content: 2, end: 4 }],
  ['a size of eight bytes', '18538067 0100000000000010', { id: 0x18538067, start: 0, content: 12, end: 28 }],
  ['an unknown size', '1f43b675 01ffffffffffffff', { id: 0x1f43b675, start: 0, content: 12, end: Infinity }],
  ['an unknown short size', '1f43b675 ff', { id: 0x1f43b675, start: 0, content: 5, end: Infinity }],
])('%s', (_name, hex, element) => {
  expect(readElement(bytes(hex), 0)).toEqual(element);
  expect(readElement(bytes(`ec80${hex}`), 2, 1000)).toMatchObject({ start: 1002, content: 1002 + element.content });
});

test.each([
  ['no ID', '00 81 00'],
  ['an ID that is too long', '0801020304 81'],
  ['half a header', '1853'],
  ['nothing', ''],
])('%s is no element', (_name, hex) => expect(readElement(bytes(hex), 0)).toBeUndefined());

test('children and their values', () => {
  const parent = bytes('b3 82 07d0 f1 83 0a0b0c');
  const children = listElements(parent, 0, parent.length)!;
  expect(children.map(({ id }) => id)).toEqual([0xb3, 0xf1]);
  expect(children.map((child) => readUnsigned(parent, child))).toEqual([2000, 0x0a0b0c]);
  expect(listElements(parent, 0, parent.length - 1)).toBeUndefined();
});
