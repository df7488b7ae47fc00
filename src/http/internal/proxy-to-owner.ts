import type { preHandlerAsyncHookHandler } from 'fastify';
import type { PlayableFinder } from '../../domain/playback/playable-finder.js';
import { LIVE_VERSION } from '../../domain/playback/write-live-playlist.js';
import { GENERATION } from '../../media/plan/generation.js';
import type { Origin } from '../../net/fetch-origin.js';
import { passThrough } from '../pass-through.js';

/**
 * The servers that play what this one can't. An interface, because only `server/` may open
 * connections to them.
 */
export interface Owners {
  /** One that makes another generation. */
  ofGeneration(generation: number, key: string): Origin | undefined;
  /** Whether anything plays early or is on air on another server. */
  hasEarly(): boolean;
  /** Asks what the others play. */
  refresh(): Promise<void>;
  /** The one on which an asset, or the playback ID of an upload, plays early; or what is on air. */
  ofEarly(id: string): Origin | undefined;
}

interface Params {
  readonly playbackId?: string;
  /** A playback ID, perhaps with an ending. */
  readonly name?: string;
  readonly plan?: string;
}

/**
 * Passes requests to other servers. While a release that makes other bytes is rolled out, players
 * keep the URLs of the playlist that they have loaded; and an asset plays early where it is
 * ingested, and a broadcast where its encoder sends.
 */
export const proxyToOwner = (owners: Owners, playables: Pick<PlayableFinder, 'find'>): preHandlerAsyncHookHandler => {
  const findEarly = async (playbackId: string, isOfBroadcast: boolean): Promise<Origin | undefined> => {
    if (!owners.hasEarly()) return undefined;
    const playable = await playables.find(playbackId);
    if (!playable) return owners.ofEarly(playbackId);
    const { live, plan, liveStreamId, assetId, status } = playable;
    // Viewers read the playlists of a broadcast on after its asset has others.
    if (live || (plan && !isOfBroadcast)) return undefined;
    const id = liveStreamId ?? assetId;
    const owner = owners.ofEarly(id);
    if (owner || (status !== 'ready' && liveStreamId === undefined)) return owner;
    // It may have begun since the others were asked last.
    await owners.refresh();
    return owners.ofEarly(id);
  };
  return async (request, reply) => {
    const { name, playbackId = name?.replace(/\.(m3u8|mpd)$/, ''), plan } = request.params as Params;
    if (playbackId === undefined) return;
    const isOther = plan !== undefined && /^[1-9]\d{0,5}$/.test(plan) && Number(plan) !== GENERATION;
    const owner = isOther
      ? owners.ofGeneration(Number(plan), playbackId)
      : await findEarly(playbackId, plan === LIVE_VERSION);
    return owner && passThrough(owner, request, reply);
  };
};
