import type { FastifyReply, FastifyRequest } from 'fastify';
import { EDGE_HEADER } from '../../domain/edge/edge-token.js';
import type { Access } from '../../domain/playback/access-check.js';
import type { LiveFeed } from '../../domain/playback/live-feed.js';
import { isInLiveClip, type LivePlayable, liveRange } from '../../domain/playback/write-live-playlist.js';
import { rejection } from '../../domain/signing/verify-token.js';
import type { Delivery, DeliveryCounter } from '../../domain/usage/delivery-counter.js';
import { partOf } from '../../domain/usage/segment-delivery.js';
import { KinoraError } from '../../lib/errors.js';
import { lastOf } from '../../lib/last-of.js';
import type { LivePart, LiveSegment, LiveTrackInfo, LiveTrackState } from '../../media/live/live-track.js';
import { videoTier } from '../../media/plan/asset-properties.js';
import { initConfig, versionText } from '../../media/playlist/live-hls.js';
import type { OpenedBroadcast } from './live-encryption.js';
import { immutableFor } from './playback-opener.js';
import { sendFile } from './send-file.js';
import { abortWhenLeft, type Query } from './viewer-routes.js';

export interface LiveSegmentsDeps {
  readonly deliveries: Pick<DeliveryCounter, 'count'>;
  /** Whether a header is that of an edge, which counts what it sends. */
  readonly isEdge?: ((header: unknown) => boolean) | undefined;
}

/** A file in the URL of a track. */
interface LiveFile {
  readonly kind: 'init' | 'media' | 'text';
  readonly segment: number;
  readonly part: number | undefined;
}

const FILE = /^(?:init-(\d{1,9})\.mp4|(\d{1,9})(?:\.(\d{1,4}))?\.m4s|(\d{1,9})\.vtt)$/;
const WEBVTT = 'text/vtt; charset=utf-8';
/** A hinted part is sent as soon as it exists (RFC 8216bis, 6.2.2). */
const WAIT_TARGETS = 3;

/** Sends what playlists of broadcasts refer to, from memory, and counts it. */
export class LiveSegments {
  private readonly deps: LiveSegmentsDeps;

  constructor(deps: LiveSegmentsDeps) {
    this.deps = deps;
  }

  async send(
    request: FastifyRequest<{ Querystring: Query }>,
    reply: FastifyReply,
    opened: OpenedBroadcast,
    { rendition, file, clip }: { readonly rendition: string; readonly file: string; readonly clip: string | undefined },
  ): Promise<unknown> {
    const { deliveries, isEdge } = this.deps;
    const { playable, access } = opened;
    const { live } = playable;
    const target = parseFile(file);
    const kind = live.track(rendition)?.info.kind;
    if (!target || !kind || (target.kind === 'text') !== (kind === 'text')) throw new KinoraError('not_found');
    const left = abortWhenLeft(reply);
    const bytes = await readFile(live, rendition, target, left).catch((error: unknown) => {
      if (left.aborted) return undefined;
      throw error;
    });
    // The client has disconnected.
    if (left.aborted) return reply.hijack();
    const state = live.track(rendition)!;
    const version = versionText(versionOf(state, target));
    // Another file had this name before its server was lost.
    if (!bytes || lastOf(request.query.v) !== version) throw new KinoraError('not_found');
    checkClip(playable, access, state, target, clip);
    reply.header('cache-control', immutableFor(opened));
    const etag = `"${[live.assetId, rendition, file, ...(version ? [version] : [])].join('-')}"`;
    const sent = { etag, sizeBytes: bytes.length, acquire: async () => ({ bytes, release: () => undefined }) };
    const type = kind === 'text' ? WEBVTT : `${kind}/mp4`;
    return sendFile(request, reply, sent, type, (sizeBytes, isWhole) => {
      const isCounted = sizeBytes > 0 && !isEdge?.(request.headers[EDGE_HEADER]);
      const whole = isCounted ? deliveryOf(live, state, target) : undefined;
      const delivered = isWhole && sizeBytes === bytes.length ? whole : whole && partOf(whole);
      if (delivered) deliveries.count({ environmentId: playable.environmentId, ...delivered, bytes: sizeBytes });
    });
  }
}

const parseFile = (file: string): LiveFile | undefined => {
  const [, init, segment, part, text] = FILE.exec(file) ?? [];
  if (text !== undefined) return { kind: 'text', segment: Number(text), part: undefined };
  if (init !== undefined) return { kind: 'init', segment: Number(init), part: undefined };
  if (segment === undefined) return undefined;
  return { kind: 'media', segment: Number(segment), part: part === undefined ? undefined : Number(part) };
};

const versionOf = ({ segments }: LiveTrackState, { segment }: LiveFile): number | undefined =>
  segments[segment - (segments[0]?.number ?? 0)]?.version;

/** Undefined when there is no such file. Waits for the part that comes next. */
const readFile = async (
  live: LiveFeed,
  rendition: string,
  { kind, segment, part }: LiveFile,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> => {
  const state = live.track(rendition)!;
  if (kind === 'init') {
    const config = initConfig(state, segment);
    return config === undefined ? undefined : live.init(rendition, config);
  }
  if (part !== undefined && isHinted(state, segment, part))
    await live.waitFor(rendition, segment, part, { timeoutMs: WAIT_TARGETS * live.times.targetSeconds * 1000, signal });
  return live.read(rendition, segment, part);
};

const isHinted = ({ segments, ended }: LiveTrackState, segment: number, part: number): boolean => {
  const last = segments.at(-1);
  if (ended || !last) return false;
  return last.complete
    ? segment === last.number + 1 && part === 0
    : segment === last.number && part === last.parts.length;
};

/** @throws KinoraError `forbidden` for a segment outside the clip that the signature is for */
const checkClip = (
  playable: LivePlayable,
  { signed }: Access,
  state: LiveTrackState,
  { kind, segment }: LiveFile,
  clip: string | undefined,
): void => {
  if (!signed || kind === 'init') return;
  if (!isInLiveClip(playable.live, state, segment, liveRange(playable, clip)))
    throw rejection('Token signature is invalid');
};

/** The usage of a whole file in the URL of a track; undefined for files that are not counted. */
export const liveDelivery = (
  live: LiveFeed,
  rendition: string,
  file: string,
): Omit<Delivery, 'environmentId' | 'bytes'> | undefined => {
  const target = parseFile(file);
  const state = live.track(rendition);
  return target && state && deliveryOf(live, state, target);
};

/**
 * Segments and parts with frames have playing time, or those with audio if there is no video; other
 * audio only counts its bytes.
 */
const deliveryOf = (
  live: LiveFeed,
  { info, segments }: LiveTrackState,
  { kind, segment: number, part }: LiveFile,
): Omit<Delivery, 'environmentId' | 'bytes'> | undefined => {
  const segment = segments[number - (segments[0]?.number ?? 0)];
  if (kind !== 'media' || !segment) return undefined;
  const plays = info.kind === 'video' || live.trackNames.every((name) => live.track(name)?.info.kind === 'audio');
  if (!plays) return { assetId: live.assetId, tier: 'audio-only', seconds: 0 };
  const sumOf = (parts: readonly LivePart[]): number =>
    parts.reduce((sum, { durationTicks }) => sum + durationTicks, 0);
  const startTicks = segment.startTicks + sumOf(segment.parts.slice(0, part ?? 0));
  const ticks = part === undefined ? segment.durationTicks : partTicks(segment, part);
  return {
    assetId: live.assetId,
    tier: tierOf(info),
    seconds: ticks / info.timescale,
    startSeconds: startTicks / info.timescale,
  };
};

const partTicks = ({ parts }: LiveSegment, part: number): number => parts[part]?.durationTicks ?? 0;

const tierOf = ({ kind, width = 0, height = 0 }: LiveTrackInfo): Delivery['tier'] =>
  kind === 'audio' ? 'audio-only' : videoTier(width, height);
