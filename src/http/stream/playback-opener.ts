import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Access, AccessCheck, AccessRequest } from '../../domain/playback/access-check.js';
import { isOnAir, type Playable, type PlayableFinder } from '../../domain/playback/playable-finder.js';
import type { LivePlayable } from '../../domain/playback/write-live-playlist.js';
import { IMAGES_RENDITION, type ReadyPlayable } from '../../domain/playback/write-playlist.js';
import type { Audience } from '../../domain/signing/verify-token.js';
import type { BudgetLimits } from '../../domain/usage/budget-limits.js';
import { budgetSpent, STEPPED_DOWN_LINES } from '../../domain/usage/spent-budget.js';
import { KinoraError } from '../../lib/errors.js';
import { lastOf } from '../../lib/last-of.js';

/** What an admitted viewer may access. */
export interface OpenedPlayback<P extends Playable = ReadyPlayable> {
  /** The finder's own object; a new one after the asset was read again. */
  readonly playable: P;
  readonly access: Access;
}

const isReady = (playable: Playable): playable is ReadyPlayable => playable.plan !== undefined;

/** What plays: a ready asset, or one that is broadcast and has no plan yet. */
export type AnyPlayback = OpenedPlayback | OpenedPlayback<LivePlayable>;

export const isLive = (opened: AnyPlayback): opened is OpenedPlayback<LivePlayable> => isOnAir(opened.playable);

/**
 * For resources that an asset doesn't have yet while it plays early.
 * @throws KinoraError `asset_not_ready`
 */
export const requireReady = <T extends OpenedPlayback>(opened: T): T => {
  if (opened.playable.early) throw new KinoraError('asset_not_ready');
  return opened;
};

/**
 * The steps of every viewer's request, in this order: find the asset, check access, check the
 * state.
 */
export class PlaybackOpener {
  readonly #playables: Pick<PlayableFinder, 'find'>;
  readonly #access: Pick<AccessCheck, 'check' | 'checkChild'>;
  readonly #budgets: Pick<BudgetLimits, 'of'>;
  readonly #cacheTag: string | undefined;
  readonly #lookedUp = new WeakMap<FastifyRequest['raw'], Playable>();

  /**
   * @param cacheTag the name of a response header that gets the ID of the asset, so that a CDN can
   * purge what it has of it
   */
  constructor(
    playables: Pick<PlayableFinder, 'find'>,
    access: Pick<AccessCheck, 'check' | 'checkChild'>,
    budgets: Pick<BudgetLimits, 'of'>,
    cacheTag?: string,
  ) {
    this.#playables = playables;
    this.#access = access;
    this.#budgets = budgets;
    this.#cacheTag = cacheTag;
  }

  /**
   * Looks up what a request is for, before the steps below, which then use the same: a broadcast
   * may leave this server at any moment, and its feed still tells what it had.
   */
  async lookUp({ raw }: FastifyRequest, playbackId: string): Promise<Playable | undefined> {
    const playable = await this.#playables.find(playbackId);
    if (playable) this.#lookedUp.set(raw, playable);
    return playable;
  }

  /**
   * Requires a token or, where `child` is passed, a signature of it. Marks the response as private
   * when the ID is not public.
   * @throws KinoraError `not_found`, `forbidden`, `invalid_parameters`, `asset_not_ready`
   */
  async open(
    request: FastifyRequest,
    reply: FastifyReply,
    playbackId: string,
    audience: Audience,
    child?: string,
  ): Promise<OpenedPlayback> {
    const { playable, access } = await this.#check(request, reply, playbackId, audience, child);
    if (!isReady(playable)) throw notReady(playable);
    return { playable, access };
  }

  /** The same for what also plays while it is broadcast. */
  async openAny(
    request: FastifyRequest,
    reply: FastifyReply,
    playbackId: string,
    audience: Audience,
  ): Promise<AnyPlayback> {
    const { playable, access } = await this.#check(request, reply, playbackId, audience);
    if (isReady(playable)) return { playable, access };
    if (isOnAir(playable)) return { playable, access };
    throw notReady(playable);
  }

  /** Requires a signature; for URLs in playlists. */
  async openChild(
    request: FastifyRequest,
    reply: FastifyReply,
    playbackId: string,
    child: string,
  ): Promise<OpenedPlayback> {
    const { playable, access } = await this.#checkChild(request, reply, playbackId, child);
    if (!isReady(playable)) throw notReady(playable);
    return { playable, access };
  }

  /** The same for URLs in playlists of a broadcast, which work for a while after its end. */
  async openLiveChild(
    request: FastifyRequest,
    reply: FastifyReply,
    playbackId: string,
    child: string,
  ): Promise<OpenedPlayback<LivePlayable>> {
    const { playable, access } = await this.#checkChild(request, reply, playbackId, child);
    if (hasBroadcast(playable)) return { playable, access };
    if (!isReady(playable)) throw notReady(playable);
    throw new KinoraError('not_found', { messages: ['The broadcast is over: load the playlist of the asset again'] });
  }

  async #check(
    request: FastifyRequest,
    reply: FastifyReply,
    playbackId: string,
    audience: Audience,
    child?: string,
  ): Promise<OpenedPlayback<Playable>> {
    const playable = await this.#find(request, reply, playbackId);
    const access = await this.#access.check(playable, accessRequest(request), audience, child);
    return { playable, access: this.#admit(reply, playable, access, audience) };
  }

  async #checkChild(
    request: FastifyRequest,
    reply: FastifyReply,
    playbackId: string,
    child: string,
  ): Promise<OpenedPlayback<Playable>> {
    const playable = await this.#find(request, reply, playbackId);
    const access = await this.#access.checkChild(playable, accessRequest(request), child);
    return { playable, access: this.#admit(reply, playable, access, isImageChild(child) ? 's' : 'v') };
  }

  /** Pages go on showing images of what they can't play; the budget does not count them. */
  #admit(reply: FastifyReply, playable: Playable, access: Access, audience: Audience): Access {
    if (access.isPrivate) reply.header('cache-control', 'private, no-cache');
    const limit = audience === 'v' ? this.#budgets.of(playable) : undefined;
    if (limit === 'stop') throw budgetSpent();
    return limit === 'step_down' ? { ...access, maxLines: STEPPED_DOWN_LINES } : access;
  }

  async #find({ raw }: FastifyRequest, reply: FastifyReply, playbackId: string): Promise<Playable> {
    const lookedUp = this.#lookedUp.get(raw);
    const playable = lookedUp?.playbackId === playbackId ? lookedUp : await this.#playables.find(playbackId);
    if (!playable) throw new KinoraError('not_found');
    if (this.#cacheTag !== undefined) reply.header(this.#cacheTag, playable.assetId);
    if (playable.policy !== 'public') reply.header('cache-control', 'private, no-cache');
    return playable;
  }
}

const isImageChild = (child: string): boolean => child.split('/')[1] === IMAGES_RENDITION;

const hasBroadcast = (playable: Playable): playable is LivePlayable => playable.live !== undefined;

/** Why nothing plays. */
export const notReady = (playable: Playable): KinoraError => {
  // Its server continues the broadcast, or plans the recording: players ask again.
  if (playable.status === 'ready' && !playable.live)
    return new KinoraError('unavailable', { details: { reason: 'the recording is being opened' } });
  if (isOnAir(playable)) return new KinoraError('asset_not_ready', { messages: ['Not available while live'] });
  if (playable.liveStreamId !== undefined)
    return new KinoraError('asset_not_ready', { messages: ['Live stream is not active'] });
  return new KinoraError('asset_not_ready');
};

export const accessRequest = ({ query, headers, host }: FastifyRequest): AccessRequest => ({
  query: query as AccessRequest['query'],
  referer: headers.referer,
  origin: headers.origin,
  userAgent: headers['user-agent'],
  host,
  fetchSite: lastOf(headers['sec-fetch-site']),
});

/**
 * Results of an asset that plays early may be withdrawn, so caches must ask again after this time.
 */
const EARLY_MAX_AGE_SECONDS = 5;

/** `Cache-Control` for responses that may be cached for `maxAgeSeconds` once the asset is ready. */
export const cacheFor = ({ playable, access }: OpenedPlayback<Playable>, maxAgeSeconds: number): string =>
  `${access.isPrivate ? 'private' : 'public'}, max-age=${playable.early ? EARLY_MAX_AGE_SECONDS : maxAgeSeconds}`;

/**
 * Rendition playlists of a ready asset never change; what is deleted must disappear within a
 * minute.
 */
const PLAYLIST_MAX_AGE_SECONDS = 60;

/** Lets shared caches keep the playlist of a rendition, if it is public and complete. */
export const allowKeepingPlaylist = (reply: FastifyReply, opened: OpenedPlayback): void => {
  const { access, playable } = opened;
  if (!access.isPrivate && !playable.early) reply.header('cache-control', cacheFor(opened, PLAYLIST_MAX_AGE_SECONDS));
};

/** `Cache-Control` for content that never changes under its URL. */
export const immutableFor = (opened: OpenedPlayback<Playable>): string => {
  if (opened.access.isPrivate) return cacheFor(opened, 3600);
  return opened.playable.early ? cacheFor(opened, 0) : 'public, max-age=31536000, immutable';
};
