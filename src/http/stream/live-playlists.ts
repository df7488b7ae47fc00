import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { LiveFeed } from '../../domain/playback/live-feed.js';
import {
  isRangeOver,
  type LivePlayable,
  liveQuery,
  liveRange,
  writeLiveMultivariant,
  writeLivePlaylist,
} from '../../domain/playback/write-live-playlist.js';
import { invalidParameters, KinoraError } from '../../lib/errors.js';
import { lastOf } from '../../lib/last-of.js';
import type { LiveTimes, LiveTrackState } from '../../media/live/live-track.js';
import { existingPlace, hasReached, isPlayable, isTooFarAhead, type LivePlace } from '../../media/playlist/live-hls.js';
import { acceptsGzip } from './accepts-gzip.js';
import { childBase } from './child-base.js';
import type { OpenedBroadcast } from './live-encryption.js';
import { type PreparedText, prepareText, sendPrepared } from './send-text.js';
import { abortWhenLeft, type Query } from './viewer-routes.js';

type Request = FastifyRequest<{ Querystring: Query }>;

/** A playlist of one state, in both forms in which it is sent. */
interface Rendered {
  readonly plain: PreparedText;
  readonly packed: PreparedText;
}

const PLAYLIST_TYPE = 'application/vnd.apple.mpegurl';
/** A request may wait for three target durations (RFC 8216bis, 6.2.5.2). */
const WAIT_TARGETS = 3;
/** Each takes some kilobytes. */
const MAX_WAITING = 20_000;
/** Renderings of one state: one for all viewers of a public ID, one for each token of others. */
const MAX_RENDERED = 200;
const NUMBER = /^\d{1,9}$/;

/** Sends the playlists of broadcasts; requests wait for what they ask for. */
export class LivePlaylists {
  private readonly rendered = new WeakMap<LiveTrackState, Map<string, Promise<Rendered>>>();
  private waiting = 0;

  async sendMultivariant(
    request: FastifyRequest,
    reply: FastifyReply,
    { playable, access, tags }: OpenedBroadcast,
  ): Promise<unknown> {
    const base = childBase(request, playable.playbackId);
    return sendPrepared(
      request,
      reply,
      PLAYLIST_TYPE,
      prepareText(writeLiveMultivariant(playable, access, base, tags)),
    );
  }

  /** The playlist of a track, once it has what `_HLS_msn` and `_HLS_part` ask for. */
  async sendMedia(
    request: Request,
    reply: FastifyReply,
    { playable, access, tags }: OpenedBroadcast,
    rendition: string,
    clip: string | undefined,
  ): Promise<unknown> {
    const { live } = playable;
    if (!live.track(rendition)) throw new KinoraError('not_found');
    const range = liveRange(playable, clip);
    const place = requestedPlace(request.query, live.times);
    const left = abortWhenLeft(reply);
    const waited = await this.waitFor(playable, rendition, place, left);
    // The client has disconnected.
    if (!waited) return reply.hijack();
    const { state, isReached } = waited;
    const skip = ['YES', 'v2'].includes(lastOf(request.query._HLS_skip) ?? '');
    const query = liveQuery(access, rendition, clip);
    const { kind } = state.info;
    const keys = kind === 'text' ? undefined : tags?.ofTrack(kind);
    // The last one may name the requested host.
    const key = [playable.playbackId, clip, skip, query, keys?.at(-1)].join(' ');
    const rendered = await this.render(state, key, () => {
      const text = writeLivePlaylist(live, state, { range, skip, query, keys });
      if (text !== undefined) return text;
      if (isRangeOver(live, state, range)) throw invalidParameters('The recording has nothing of the clip');
      throw new KinoraError('asset_not_ready', { messages: ['The clip has not started yet'] });
    });
    if (!access.isPrivate && place && isReached) {
      // Whoever asks for the same gets something newer from the next request.
      reply.header('cache-control', `public, max-age=${live.times.targetSeconds}`);
    }
    reply.header('vary', 'Accept-Encoding');
    const packs = acceptsGzip(request) && request.headers.range === undefined;
    if (packs) reply.header('content-encoding', 'gzip');
    return sendPrepared(request, reply, PLAYLIST_TYPE, packs ? rendered.packed : rendered.plain);
  }

  /**
   * Undefined when the viewer has left. Without what was asked for, the broadcast is interrupted:
   * the viewer asks the server that continues it.
   */
  private async waitFor(
    { live }: LivePlayable,
    rendition: string,
    place: LivePlace | undefined,
    left: AbortSignal,
  ): Promise<{ readonly state: LiveTrackState; readonly isReached: boolean } | undefined> {
    const { times } = live;
    const stateOf = (): LiveTrackState => live.track(rendition)!;
    if (place && isTooFarAhead(stateOf(), times, place))
      throw invalidParameters('The requested segment is too far ahead of the playlist');
    const isReached = (state: LiveTrackState): boolean =>
      isPlayable(state, times) && (!place || hasReached(state, place));
    if (this.waiting >= MAX_WAITING && !isReached(stateOf()))
      throw new KinoraError('unavailable', { details: { reason: 'too many viewers wait' } });
    const until = performance.now() + WAIT_TARGETS * times.targetSeconds * 1000;
    this.waiting += 1;
    try {
      for (let before: LiveTrackState | undefined; ; ) {
        const state = stateOf();
        const { segment, part } = awaitedPlace(live, state, place);
        const options = { timeoutMs: Math.max(0, until - performance.now()), signal: left };
        // Also for what is there already: it tells the encoder of a rung that somebody watches.
        await live.waitFor(rendition, segment, part, options);
        if (isReached(stateOf())) return { state: stateOf(), isReached: true };
        if (performance.now() >= until) break;
        if (stateOf() === before && isPlayable(before, times)) return { state: before, isReached: false };
        if (stateOf() === before) break;
        before = stateOf();
      }
    } catch (error) {
      if (left.aborted) return undefined;
      throw error;
    } finally {
      this.waiting -= 1;
    }
    throw new KinoraError('unavailable', { details: { reason: 'nothing was recorded in time', rendition } });
  }

  private async render(state: LiveTrackState, key: string, write: () => string): Promise<Rendered> {
    const renderings = this.rendered.get(state) ?? new Map<string, Promise<Rendered>>();
    this.rendered.set(state, renderings);
    const shared = renderings.get(key);
    if (shared) return shared;
    const text = write();
    const rendered = pack(text);
    if (renderings.size < MAX_RENDERED) renderings.set(key, rendered);
    return rendered;
  }
}

const pack = async (text: string): Promise<Rendered> => {
  const plain = prepareText(text);
  const body = await promisify(gzip)(text, { level: 6 });
  const etag = `${plain.etag.slice(0, -1)}-gzip"`;
  return { plain, packed: { body, etag, sizeBytes: body.length } };
};

/** What the track is asked for next. */
const awaitedPlace = (live: LiveFeed, state: LiveTrackState, place: LivePlace | undefined): LivePlace => {
  if (!isPlayable(state, live.times)) return nextPlace(live, state);
  return place ? existingPlace(state, place) : firstPlace(state);
};

/** What a playable track has in any case. */
const firstPlace = ({ segments }: LiveTrackState): LivePlace => ({ segment: segments[0]!.number, part: 0 });

/** What a track that no player can start with yet gets next. */
const nextPlace = (live: LiveFeed, { segments }: LiveTrackState): LivePlace => {
  const last = segments.at(-1);
  const edge = live.track(live.trackNames[0]!)?.segments.at(-1);
  return last ? { segment: last.number, part: last.parts.length } : { segment: edge?.number ?? 0, part: 0 };
};

/** @throws KinoraError `invalid_parameters` */
const requestedPlace = (query: Query, { latencyMode }: LiveTimes): LivePlace | undefined => {
  const [segment, part] = [lastOf(query._HLS_msn), lastOf(query._HLS_part)];
  for (const value of [segment, part])
    if (value !== undefined && !NUMBER.test(value)) throw invalidParameters('Invalid delivery directive');
  if (segment === undefined && part !== undefined) throw invalidParameters('_HLS_part requires _HLS_msn');
  if (segment === undefined) return undefined;
  // Other modes list no parts.
  return { segment: Number(segment), part: part === undefined || latencyMode !== 'low' ? undefined : Number(part) };
};
