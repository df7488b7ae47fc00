import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Access, AccessCheck, AccessRequest } from '../../domain/playback/check-access.js';
import type { Playable, PlayableFinder } from '../../domain/playback/find-playable.js';
import type { ReadyPlayable } from '../../domain/playback/write-playlist.js';
import type { Audience } from '../../domain/signing/verify-token.js';
import { KinoraError } from '../../lib/errors.js';

/** What an admitted viewer may access. */
export interface OpenedPlayback {
  /** The finder's own object; a new one after the asset was read again. */
  readonly playable: ReadyPlayable;
  readonly access: Access;
}

/** The steps of every viewer's request, in this order: find the asset, check access, check the state. */
export interface OpenPlayback {
  /**
   * Requires a token or, where `child` is given, a signature of it. Marks the response as private when the ID is not
   * public.
   * @throws KinoraError `not_found`, `forbidden`, `invalid_parameters`, `asset_not_ready`
   */
  open(
    request: FastifyRequest,
    reply: FastifyReply,
    playbackId: string,
    audience: Audience,
    child?: string,
  ): Promise<OpenedPlayback>;
  /** Requires a signature; for URLs in playlists. */
  openChild(request: FastifyRequest, reply: FastifyReply, playbackId: string, child: string): Promise<OpenedPlayback>;
}

const isPlayable = (playable: Playable): playable is ReadyPlayable => playable.plan !== undefined;

/**
 * For resources that an asset doesn't have yet while it plays early.
 * @throws KinoraError `asset_not_ready`
 */
export const requireReady = <T extends OpenedPlayback>(opened: T): T => {
  if (opened.playable.early) throw new KinoraError('asset_not_ready');
  return opened;
};

/** @param cacheTag the name of a response header that gets the ID of the asset, so that a CDN can purge what it has of it */
export const createOpenPlayback = (playables: PlayableFinder, access: AccessCheck, cacheTag?: string): OpenPlayback => {
  const finish = async (
    reply: FastifyReply,
    playable: Playable | undefined,
    judge: (playable: Playable) => Promise<Access>,
  ): Promise<OpenedPlayback> => {
    if (!playable) throw new KinoraError('not_found');
    if (cacheTag !== undefined) reply.header(cacheTag, playable.assetId);
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
      finish(reply, await playables.find(playbackId), (playable) =>
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

/** Results of an asset that plays early may be withdrawn, so caches must ask again after this time. */
const EARLY_MAX_AGE_SECONDS = 5;

/** `Cache-Control` for responses that may be cached for `maxAgeSeconds` once the asset is ready. */
export const cacheFor = ({ playable, access }: OpenedPlayback, maxAgeSeconds: number): string =>
  `${access.signed ? 'private' : 'public'}, max-age=${playable.early ? EARLY_MAX_AGE_SECONDS : maxAgeSeconds}`;

/** The playlists of renditions never change once the asset is ready; what is deleted must disappear within a minute. */
const PLAYLIST_MAX_AGE_SECONDS = 60;

/** Lets shared caches keep the playlist of a rendition, if it is public and complete. */
export const allowKeepingPlaylist = (reply: FastifyReply, opened: OpenedPlayback): void => {
  const { access, playable } = opened;
  if (!access.signed && !playable.early) reply.header('cache-control', cacheFor(opened, PLAYLIST_MAX_AGE_SECONDS));
};

/** `Cache-Control` for content that never changes under its URL. */
export const immutableFor = (opened: OpenedPlayback): string => {
  if (opened.access.signed) return cacheFor(opened, 3600);
  return opened.playable.early ? cacheFor(opened, 0) : 'public, max-age=31536000, immutable';
};
