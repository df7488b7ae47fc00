import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Access, AccessCheck, AccessRequest } from '../../domain/playback/check-access.js';
import type { Playable, PlayableFinder } from '../../domain/playback/find-playable.js';
import type { ReadyPlayable } from '../../domain/playback/write-playlist.js';
import type { Audience } from '../../domain/signing/verify-token.js';
import { KinoraError } from '../../lib/errors.js';

/** What a viewer was let in to. */
export interface OpenedPlayback {
  /** The finder's own object: another one once the asset was read again. */
  readonly playable: ReadyPlayable;
  readonly access: Access;
}

/** The way of every viewer's request into the house: find, judge access, then the state, in this order. */
export interface OpenPlayback {
  /**
   * By token; where `child` is given also by a signature of it. Marks the answer as private when it is not public.
   * @throws KinoraError `not_found`, `forbidden`, `invalid_parameters`, `asset_not_ready`
   */
  open(
    request: FastifyRequest,
    reply: FastifyReply,
    playbackId: string,
    audience: Audience,
    child?: string,
  ): Promise<OpenedPlayback>;
  /** By signature only; for addresses that playlists name. */
  openChild(request: FastifyRequest, reply: FastifyReply, playbackId: string, child: string): Promise<OpenedPlayback>;
}

/** Segments are asked for every few seconds: what they need of an asset does not change. */
const CHILD_MAX_AGE_MS = 30_000;

const isPlayable = (playable: Playable): playable is ReadyPlayable => playable.plan !== undefined;

/**
 * For what an asset that plays early does not have yet.
 * @throws KinoraError `asset_not_ready`
 */
export const requireReady = <T extends OpenedPlayback>(opened: T): T => {
  if (opened.playable.early) throw new KinoraError('asset_not_ready');
  return opened;
};

export const createOpenPlayback = (playables: PlayableFinder, access: AccessCheck): OpenPlayback => {
  const finish = async (
    reply: FastifyReply,
    playable: Playable | undefined,
    judge: (playable: Playable) => Promise<Access>,
  ): Promise<OpenedPlayback> => {
    if (!playable) throw new KinoraError('not_found');
    if (playable.policy !== 'public') reply.header('cache-control', 'private, no-cache');
    const granted = await judge(playable);
    if (!isPlayable(playable)) throw new KinoraError('asset_not_ready');
    return { playable, access: granted };
  };
  return {
    open: async (request, reply, playbackId, audience, child) =>
      finish(reply, await playables.find(playbackId), (playable) =>
        access.check(playable, accessRequest(request), audience, child),
      ),
    openChild: async (request, reply, playbackId, child) =>
      finish(reply, await playables.find(playbackId, CHILD_MAX_AGE_MS), (playable) =>
        access.checkChild(playable, accessRequest(request), child),
      ),
  };
};

export const accessRequest = ({ query, headers }: FastifyRequest): AccessRequest => ({
  query: query as AccessRequest['query'],
  referer: headers.referer,
  origin: headers.origin,
  userAgent: headers['user-agent'],
});

/** What an asset that plays early shows may be taken back: caches ask again after so long. */
const EARLY_MAX_AGE_SECONDS = 5;

/** `Cache-Control` of what may be kept for `maxAgeSeconds` once the asset is ready. */
export const cacheFor = ({ playable, access }: OpenedPlayback, maxAgeSeconds: number): string =>
  `${access.signed ? 'private' : 'public'}, max-age=${playable.early ? EARLY_MAX_AGE_SECONDS : maxAgeSeconds}`;

/** `Cache-Control` of what never changes under its URL. */
export const immutableFor = (opened: OpenedPlayback): string => {
  if (opened.access.signed) return cacheFor(opened, 3600);
  return opened.playable.early ? cacheFor(opened, 0) : 'public, max-age=31536000, immutable';
};
