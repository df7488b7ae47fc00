import { expect, test } from 'vitest';
import { InternalSignature } from './internal-signature.js';

let seconds = 1_000_000;
const clock = { now: () => new Date(seconds * 1000), monotonicMs: () => 0 };
const signature = new InternalSignature('secret', clock);

test('a signature is valid for its request and for a minute, on every server of the installation', () => {
  const header = signature.sign('/internal/a', 'body');
  expect(new InternalSignature('secret', clock).verify('/internal/a', 'body', header)).toBe('valid');
  expect(signature.verify('/internal/b', 'body', header)).toBe('wrong');
  expect(signature.verify('/internal/a', 'bodY', header)).toBe('wrong');
  expect(new InternalSignature('another', clock).verify('/internal/a', 'body', header)).toBe('wrong');
  seconds += 60;
  expect(signature.verify('/internal/a', 'body', header)).toBe('valid');
  seconds += 1;
  expect(signature.verify('/internal/a', 'body', header)).toBe('late');
  expect(signature.verify('/internal/a', 'bodY', header)).toBe('wrong');
});

test.each([undefined, '', '1', '1000000.', ['1000000.aa'], `1000061.${'0'.repeat(64)}`, `x.${'0'.repeat(64)}`])(
  'a header of %j is refused',
  (header) => {
    expect(signature.verify('/', '', header)).toBe('wrong');
  },
);
