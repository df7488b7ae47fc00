import { expect, test } from 'vitest';
import type { OpenedPlayback } from './playback-opener.js';
import { PlaylistCache } from './playlist-cache.js';

const opened = (policy: 'public' | 'signed' = 'public', modifiers: object = {}): OpenedPlayback => ({
  playable: { policy, meta: {}, tracks: [] } as unknown as OpenedPlayback['playable'],
  access: {
    signed: policy !== 'public',
    isPrivate: policy !== 'public',
    modifiers: { ...modifiers },
    expiresAtSeconds: undefined,
    childQuery: () => '',
  },
});

/** Adds to each playlist how many have been composed so far. */
const counting = () => {
  let composed = 0;
  return new PlaylistCache((_playable, _access, base, origin) => {
    composed += 1;
    return `${composed} ${base} ${origin}`;
  });
};

test('the playlist of a public ID is composed once, until the asset is read again', () => {
  const playlists = counting();
  const first = opened();
  expect(playlists.get(first, 'a/', 'http://a').body).toBe('1 a/ http://a');
  // Access is checked for each request; the finder's object stays the same.
  expect(playlists.get({ ...first, access: opened().access }, 'a/', 'http://a')).toBe(
    playlists.get(first, 'a/', 'http://a'),
  );
  const changed = playlists.get(opened(), 'a/', 'http://a');
  expect(changed.body).toBe('2 a/ http://a');
  expect(changed.etag).not.toBe(playlists.get(first, 'a/', 'http://a').etag);
});

test('another host or another form of the address gets its own', () => {
  const playlists = counting();
  const asked = opened();
  const bodies = [
    ['a/', 'http://a'],
    ['a/', 'http://b'],
    ['../a/', 'http://b'],
    ['../a/', undefined],
    ['../a/', undefined],
    ['a/', 'http://a'],
  ].map(([base, origin]) => playlists.get(asked, base!, origin).body);
  expect(bodies).toEqual([
    '1 a/ http://a',
    '2 a/ http://b',
    '3 ../a/ http://b',
    '4 ../a/ undefined',
    '4 ../a/ undefined',
    '5 a/ http://a',
  ]);
});

test('a signed playlist is never kept, nor one with parameters, nor do they disturb the one that is', () => {
  const playlists = counting();
  const signed = opened('signed');
  const bare = opened();
  const withParameters = { ...bare, access: opened('public', { max_resolution: '720p' }).access };
  const bodies = [signed, signed, bare, withParameters, withParameters, bare].map(
    (asked) => (playlists.get(asked, 'a/', undefined).body as string)[0],
  );
  expect(bodies).toEqual(['1', '2', '3', '4', '5', '3']);
});
