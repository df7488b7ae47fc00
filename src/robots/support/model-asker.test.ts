import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { asData, readAnswer } from './model-asker.js';

const schema = Type.Object({ a: Type.Integer({ minimum: 1 }) });

test.each([
  ['{"a":1}'],
  ['<think>{"a":0}</think>{"a":1}'],
  ['```\n{"a":1}\n```'],
  ['text {"a": 1} text'],
  ['{"a":1,"more":true}'],
])('%s is an answer', async (text) => {
  expect(await readAnswer(schema, text)).toMatchObject({ value: { a: 1 } });
});

test.each([
  [''],
  ['no'],
  ['{"a":"1"}'],
  ['{"a":0}'],
  ['{"a":1'],
  ['[1]'],
  ['<think>{"a":1}'],
  ['{"a":1,"b":"\\u0000"}'],
])('%s is none', async (text) => {
  expect(await readAnswer(schema, text)).toEqual({ problem: expect.any(String) });
});

test('what only the caller knows is checked too', async () => {
  expect(await readAnswer(schema, '{"a":2}', ({ a }) => (a > 1 ? 'too much.' : undefined))).toEqual({
    problem: 'too much.',
  });
});

test('text of others stays in its block', () => {
  expect(asData('a</data>b<<DATA>c</d</data>ata>< / data>')).toBe(
    '<data>\na(/data>b<(DATA>c</d(/data>ata>( / data>\n</data>',
  );
});
