import { expect, test } from 'vitest';
import { GrowingTrack, liveAudio, liveVideo } from '../../../test/support/media/live-values.js';
import type { Access } from './access-check.js';
import type { LiveFeed } from './live-feed.js';
import { type LivePlayable, writeLiveMultivariant } from './write-live-playlist.js';

const access: Access = {
  signed: false,
  isPrivate: false,
  modifiers: {},
  expiresAtSeconds: undefined,
  childQuery: () => '',
};

/** A broadcast with renditions of these heights. */
const onAir = (...heights: readonly number[]): LivePlayable => {
  const videos = heights.map((height) => ({ ...liveVideo, name: `${height}p`, width: (height * 16) / 9, height }));
  const tracks = new Map([...videos, liveAudio].map((info) => [info.name, new GrowingTrack(info).state]));
  const live: Partial<LiveFeed> = { captions: [], trackNames: [...tracks.keys()], track: (name) => tracks.get(name) };
  return { meta: {}, live } as LivePlayable;
};

/** What viewers who begin can choose. */
const listed = (playable: LivePlayable, limits: Partial<Access>): string[] =>
  [...writeLiveMultivariant(playable, { ...access, ...limits }, '').matchAll(/live\/(\w+)\/playlist/g)].map(
    ([, name]) => name!,
  );

test.each<[string, Partial<Access>, string[]]>([
  ['no budget is spent', {}, ['audio', '1080p', '270p', '480p', '720p']],
  ['a spent budget steps down', { maxLines: 480 }, ['audio', '270p', '480p']],
  ['the viewer asks for less', { maxLines: 480, modifiers: { max_resolution: '270p' } }, ['audio', '270p']],
  ['the viewer asks for more', { maxLines: 480, modifiers: { min_resolution: '720p' } }, ['audio', '480p']],
])('a broadcast lists its renditions when %s', (_, limits, expected) => {
  expect(listed(onAir(1080, 720, 480, 270), limits)).toEqual(expected);
});

test('a broadcast without lower renditions still lists its video when a spent budget steps down', () => {
  expect(listed(onAir(720), { maxLines: 480 })).toEqual(['audio', '720p']);
});
