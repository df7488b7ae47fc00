import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest, preHandlerAsyncHookHandler } from 'fastify';
import { LIVE_VERSION } from '../../domain/playback/write-live-playlist.js';
import { isKinoraError } from '../../lib/errors.js';
import { GENERATION } from '../../media/plan/generation.js';
import type { Origin } from '../../net/fetch-origin.js';
import { passThrough } from '../pass-through.js';
import { isReading } from '../plugins/reading-methods.js';
import type { PlaybackOpener } from '../stream/playback-opener.js';

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

/** hls.js gives up on a response that does not begin within 10 s. */
const HOLD_MS = 9000;
const LOOK_MS = 500;
/** Each takes some kilobytes. */
const MAX_HELD = 10_000;

/**
 * Passes requests to other servers. While a release that makes other bytes is rolled out, players
 * keep the URLs of the playlist that they have loaded; and an asset plays early where it is
 * ingested, and a broadcast where its encoder sends. While a broadcast has no server, because it is
 * taken over from one that has left, its viewers wait.
 */
export const proxyToOwner = (owners: Owners, opener: Pick<PlaybackOpener, 'lookUp'>): preHandlerAsyncHookHandler => {
  let held = 0;

  /** `awaited` when it is on air, but no server that is known has it. */
  const findEarly = async (
    request: FastifyRequest,
    playbackId: string,
    isOfBroadcast: boolean,
  ): Promise<Origin | 'awaited' | undefined> => {
    const playable = await opener.lookUp(request, playbackId);
    if (!playable) return owners.hasEarly() ? owners.ofEarly(playbackId) : undefined;
    const { live, plan, liveStreamId, assetId, status } = playable;
    // Viewers read the playlists of a broadcast on after its asset has others.
    if (live || (plan && !isOfBroadcast)) return undefined;
    const id = liveStreamId ?? assetId;
    const owner = owners.ofEarly(id);
    if (owner || (status !== 'ready' && liveStreamId === undefined)) return owner;
    // It may have begun since the others were asked last.
    if (owners.hasEarly()) await owners.refresh();
    return owners.ofEarly(id) ?? (status === 'ready' && !plan ? 'awaited' : undefined);
  };

  const passToEarly = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { playbackId, isOfBroadcast }: { readonly playbackId: string; readonly isOfBroadcast: boolean },
  ): Promise<FastifyReply | undefined> => {
    for (const untilMs = performance.now() + HOLD_MS; ; ) {
      const owner = await findEarly(request, playbackId, isOfBroadcast);
      if (!owner) return undefined;
      const mayWait = isReading(request.method) && performance.now() < untilMs && held < MAX_HELD;
      if (owner === 'awaited' && !mayWait) return undefined;
      try {
        if (owner !== 'awaited') return await passThrough(owner, request, reply, { namesEdge: true });
      } catch (error) {
        // The owner has left, and does not know it or could not tell.
        if (!mayWait || !isKinoraError(error, 'unavailable')) throw error;
      }
      held += 1;
      await pause(LOOK_MS);
      held -= 1;
      if (reply.raw.destroyed) return reply.hijack();
    }
  };

  return async (request, reply) => {
    const { name, playbackId = name?.replace(/\.(m3u8|mpd)$/, ''), plan } = request.params as Params;
    if (playbackId === undefined) return;
    const isOther = plan !== undefined && /^[1-9]\d{0,5}$/.test(plan) && Number(plan) !== GENERATION;
    if (!isOther) return passToEarly(request, reply, { playbackId, isOfBroadcast: plan === LIVE_VERSION });
    const owner = owners.ofGeneration(Number(plan), playbackId);
    return owner && passThrough(owner, request, reply, { namesEdge: true });
  };
};
