import { expect, test } from 'vitest';
import { type Artifact, ArtifactUrls } from './artifact-urls.js';

const urls = new ArtifactUrls('secret', () => 'https://stream.example.net');
const master: Artifact = { kind: 'master', ownerId: 'asset', version: 'order', file: 'master.mp4' };
const manifest: Artifact = { ...master, kind: 'shots', file: 'manifest.json' };
const EXPIRES = 1_767_312_060;
const before = new Date((EXPIRES - 1) * 1000);

const partsOf = (url: string) => {
  const { pathname, searchParams } = new URL(url);
  return { expires: searchParams.get('expires'), signature: searchParams.get('sig') ?? pathname.split('/')[3] };
};

test('addresses have the form that the API promises', () => {
  expect(urls.urlOf(master, EXPIRES)).toMatch(
    /^https:\/\/stream\.example\.net\/master\/asset\/[\w-]{43}\/master\.mp4\?expires=1767312060$/,
  );
  expect(urls.urlOf(manifest, EXPIRES)).toMatch(
    /^https:\/\/stream\.example\.net\/artifacts\/shots\/asset\/manifest\.json\?expires=1767312060&sig=[\w-]{43}$/,
  );
});

test.each([master, manifest])('an address of $kind is good until its time is over', (artifact) => {
  const { expires, signature } = partsOf(urls.urlOf(artifact, EXPIRES));
  expect(() => urls.check(artifact, expires, signature, before)).not.toThrow();
  expect(() => urls.check(artifact, expires, signature, new Date(EXPIRES * 1000))).toThrow('Signature has expired');
});

test('and for this file of this order alone', () => {
  const { expires, signature } = partsOf(urls.urlOf(master, EXPIRES));
  const others: Partial<Artifact>[] = [
    { kind: 'shots' },
    { ownerId: 'other' },
    { version: 'other' },
    { file: 'master.m4a' },
  ];
  for (const other of others)
    expect(() => urls.check({ ...master, ...other }, expires, signature, before)).toThrow('Signature is invalid');
  for (const [time, code] of [
    [String(EXPIRES + 1), signature],
    [undefined, signature],
    ['', signature],
    ['1e9', signature],
    [expires, undefined],
    [expires, ''],
    [expires, `${signature}A`],
    [expires, [signature]],
  ])
    expect(() => urls.check(master, time, code, before)).toThrow('Signature is invalid');
  const foreign = new ArtifactUrls('another secret', () => 'https://stream.example.net');
  expect(() => foreign.check(master, expires, signature, before)).toThrow('Signature is invalid');
});
