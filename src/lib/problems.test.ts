import { expect, it } from 'vitest';
import { formatPath, Problems } from './problems.js';

it('paths use dots and indexes', () => {
  expect(formatPath(['inputs', 0, 'overlay_settings', 'opacity'])).toBe('inputs[0].overlay_settings.opacity');
});

it('messages come in body order, what is missing before its siblings', () => {
  const body = { b: [{}, { y: 1, x: 2 }], a: 1 };
  const problems = new Problems();
  problems.add(['a'], 'is bad');
  problems.add(['b', 1, 'x'], 'is bad');
  problems.add(['b', 1, 'y'], 'is bad');
  problems.add(['b', 1, 'missing'], 'is required');
  problems.add(['b', 0], 'is bad');
  problems.addSentence(['b'], 'All of b is bad');
  problems.add(['none'], 'is required');
  expect(() => problems.throwIfAny(body)).toThrow(
    expect.objectContaining({
      code: 'invalid_parameters',
      messages: [
        'none is required',
        'All of b is bad',
        'b[0] is bad',
        'b[1].missing is required',
        'b[1].y is bad',
        'b[1].x is bad',
        'a is bad',
      ],
    }),
  );
  expect(problems.has(['b', 0])).toBe(true);
  expect(problems.has(['b', 1])).toBe(false);
});

it('the fields of an object are looked at once, however many problems it has', () => {
  const fields = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`k${at}`, 0]));
  let looked = 0;
  const body = new Proxy(
    { ...fields, list: Array(500).fill(0) },
    {
      ownKeys: (target) => {
        looked += 1;
        return Reflect.ownKeys(target);
      },
    },
  );
  const problems = new Problems();
  for (let at = 499; at >= 0; at--) problems.add(['list', at], 'is bad');
  expect(() => problems.throwIfAny(body)).toThrow(/^list\[0\] is bad; list\[1\] is bad/);
  expect(looked).toBe(1);
});

it('nothing wrong throws nothing', () => {
  expect(() => new Problems().throwIfAny({})).not.toThrow();
});
