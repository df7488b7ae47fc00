import type { preHandlerAsyncHookHandler } from 'fastify';
import type { PlayableFinder } from '../../domain/playback/playable-finder.js';
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
  /** Whether anything plays early on another server. */
  hasEarly(): boolean;
  /** The one on which an asset, or the playback ID of an upload, plays early. */
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
 * ingested.
 */
export const proxyToOwner = (owners: Owners, playables: Pick<PlayableFinder, 'find'>): preHandlerAsyncHookHandler => {
  const findEarly = async (playbackId: string): Promise<Origin | undefined> => {
    if (!owners.hasEarly()) return undefined;
    const playable = await playables.find(playbackId);
    if (playable && (playable.status !== 'preparing' || playable.plan)) return undefined;
    return owners.ofEarly(playable?.assetId ?? playbackId);
  };
  return async (request, reply) => {
    const { name, playbackId = name?.replace(/\.(m3u8|mpd)$/, ''), plan } = request.params as Params;
    if (playbackId === undefined) return;
    const isOther = plan !== undefined && /^[1-9]\d{0,5}$/.test(plan) && Number(plan) !== GENERATION;
    const owner = isOther ? owners.ofGeneration(Number(plan), playbackId) : await findEarly(playbackId);
    return owner && passThrough(owner, request, reply);
  };
};
