import { describe, expect, test } from 'vitest';
import { ChildSigner, type Grant } from './child-signer.js';

const signer = new ChildSigner('secret');
const id = 'p'.repeat(40);
const grant: Grant = { expiresAtSeconds: 1_800_000_000, keyId: 'K'.repeat(40), restrictionId: 'R'.repeat(40) };

test('a signature gives back its grant', () => {
  expect(signer.verify(id, '1/720p/', signer.sign(id, '1/720p/', grant))).toEqual(grant);
  const { restrictionId: _, ...free } = grant;
  expect(signer.verify(id, 'x', signer.sign(id, 'x', free))).toEqual(free);
});

test('many signatures are remembered and forgotten, and each stays good for its own address alone', () => {
  const children = Array.from({ length: 12_000 }, (_, number) => `1/720p/${number}`);
  const signatures = children.map((child) => signer.sign(id, child, grant));
  for (let round = 0; round < 2; round++) {
    for (const [at, child] of children.entries()) expect(signer.verify(id, child, signatures[at]!)).toEqual(grant);
  }
  expect(signer.verify(id, children[0]!, signatures.at(-1)!)).toBeUndefined();
  expect(signer.verify(`q${id.slice(1)}`, children.at(-1)!, signatures.at(-1)!)).toBeUndefined();
});

describe.each(['before it was seen', 'after'])('nothing of it can be changed, %s', (when) => {
  const signature = signer.sign(id, '1/720p/', {
    ...grant,
    expiresAtSeconds: when === 'after' ? 1_700_000_000 : 1_600_000_000,
  });
  if (when === 'after') signer.verify(id, '1/720p/', signature);
  const [expiry, key, restriction, code] = signature.split('.') as [string, string, string, string];
  test.each([
    ['playback id', `q${id.slice(1)}`, '1/720p/', signature],
    ['child', id, '1/1080p/', signature],
    ['clip', id, '1/720p/0-9', signature],
    ['expiry', id, '1/720p/', [1_900_000_000, key, restriction, code].join('.')],
    ['key', id, '1/720p/', [expiry, 'L'.repeat(40), restriction, code].join('.')],
    ['restriction', id, '1/720p/', [expiry, key, '', code].join('.')],
    ['code', id, '1/720p/', `${expiry}.${key}.${restriction}.${[...code].reverse().join('')}`],
    ['length of the code', id, '1/720p/', signature.slice(0, -1)],
    ['form of the expiry', id, '1/720p/', `0${signature}`],
    ['parts', id, '1/720p/', `${signature}.`],
    ['everything', id, '1/720p/', ''],
  ])('%s', (_, playbackId, child, changed) => {
    expect(signer.verify(playbackId, child, changed)).toBeUndefined();
  });
  test('fields cannot move from one to the next', () => {
    const moved = [expiry, key.slice(1), `K${restriction}`, code].join('.');
    expect(signer.verify(id, '1/720p/', moved)).toBeUndefined();
  });
  test('another installation', () => {
    expect(new ChildSigner('other').verify(id, '1/720p/', signature)).toBeUndefined();
  });
});
