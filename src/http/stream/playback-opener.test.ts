import type { FastifyReply, FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import type { Access } from '../../domain/playback/access-check.js';
import type { LiveFeed } from '../../domain/playback/live-feed.js';
import type { Playable } from '../../domain/playback/playable-finder.js';
import { PlaybackOpener } from './playback-opener.js';

const onAir: Playable = {
  playbackId: 'p',
  environmentId: 'e',
  policy: 'public',
  assetId: 'a',
  liveStreamId: 's',
  status: 'ready',
  meta: {},
  chapters: [],
  tracks: [],
  live: {} as LiveFeed,
};
const { live: _, ...left } = onAir;

const request = (): FastifyRequest => ({ raw: {}, query: {}, headers: {} }) as FastifyRequest;

it('plays the broadcast that a request was looked up with, even when it has left this server since', async () => {
  let playable: Playable = onAir;
  const access = async () => ({}) as Access;
  const opener = new PlaybackOpener(
    { find: async () => playable },
    { check: access, checkChild: access },
    { of: () => undefined },
  );
  const early = request();
  await opener.lookUp(early, 'p');
  playable = left;
  const open = (of: FastifyRequest) => opener.openLiveChild(of, {} as FastifyReply, 'p', 'child');
  expect((await open(early)).playable).toBe(onAir);
  await expect(open(request())).rejects.toMatchObject({ code: 'unavailable' });
});
