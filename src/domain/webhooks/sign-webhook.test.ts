import { expect, it } from 'vitest';
import { signWebhook } from './sign-webhook.js';

it('signs the time and the bytes of the body', () => {
  expect(signWebhook('q7m2x9v4t1c8r5n0z3k6h2j9d4s7p1lw', 1_767_225_600, '{"a":1}')).toBe(
    't=1767225600,v1=3ea1fd3e18e234381b3702d42820dc7dd92bfe3bea6b776217aac38e6ea6c37d',
  );
});
