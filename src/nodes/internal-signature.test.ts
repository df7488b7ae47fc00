import { expect, test } from 'vitest';
import { createInternalSignature } from './internal-signature.js';

let seconds = 1_000_000;
const clock = { now: () => new Date(seconds * 1000), monotonicMs: () => 0 };
const signature = createInternalSignature('secret', clock);

test('a signature is valid for its request and for a minute, on every server of the installation', () => {
  const header = signature.sign('/internal/a', 'body');
  expect(createInternalSignature('secret', clock).isValid('/internal/a', 'body', header)).toBe(true);
  expect(signature.isValid('/internal/b', 'body', header)).toBe(false);
  expect(signature.isValid('/internal/a', 'bodY', header)).toBe(false);
  expect(createInternalSignature('another', clock).isValid('/internal/a', 'body', header)).toBe(false);
  seconds += 60;
  expect(signature.isValid('/internal/a', 'body', header)).toBe(true);
  seconds += 1;
  expect(signature.isValid('/internal/a', 'body', header)).toBe(false);
});

test.each([undefined, '', '1', '1000000.', ['1000000.aa'], `1000061.${'0'.repeat(64)}`, `x.${'0'.repeat(64)}`])(
  'a header of %j is refused',
  (header) => {
    expect(signature.isValid('/', '', header)).toBe(false);
  },
);
