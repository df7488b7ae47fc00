import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Production } from '../../cache/productions.js';
import type { SegmentStore } from '../../cache/segment-store.js';
import type { EdgeLookups } from '../../domain/edge/edge-lookups.js';
import type { EdgeReports } from '../../domain/edge/edge-reports.js';
import { EDGE_HEADER } from '../../domain/edge/edge-token.js';
import type { AccessCheck } from '../../domain/playback/access-check.js';
import { LIVE_VERSION } from '../../domain/playback/write-live-playlist.js';
import { isInClip, renditionChild } from '../../domain/playback/write-playlist.js';
import { rejection } from '../../domain/signing/verify-token.js';
import type { BudgetLimits } from '../../domain/usage/budget-limits.js';
import { budgetSpent } from '../../domain/usage/spent-budget.js';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import { lastOf } from '../../lib/last-of.js';
import { AUDIO_RENDITION, alternateAudioTrack } from '../../media/plan/find-segment.js';
import type { Origin } from '../../net/fetch-origin.js';
import { forwardedHeaders } from '../pass-through.js';
import { accessRequest } from '../stream/playback-opener.js';
import { sendFile } from '../stream/send-file.js';
import { abortWhenLeft, acceptViewers, type Query } from '../stream/viewer-routes.js';

export interface EdgeSegmentDeps {
  readonly origin: Origin;
  readonly token: string;
  readonly cache: Pick<SegmentStore, 'get'>;
  readonly lookups: Pick<EdgeLookups, 'playbackIds'>;
  readonly access: Pick<AccessCheck, 'checkChild'>;
  readonly reports: Pick<EdgeReports, 'count'>;
  readonly budgets: Pick<BudgetLimits, 'of'>;
  readonly cacheTag?: string;
}

interface Params {
  readonly playbackId: string;
  readonly plan: string;
  readonly rendition: string;
  readonly file: string;
}
type SegmentRequest = FastifyRequest<{ Params: Params; Querystring: Query }>;

const PLAN = /^[1-9]\d{0,5}$/;
const RENDITION = /^(?!text-|images$)[A-Za-z0-9][A-Za-z0-9-]{0,63}$/;
const FILE = /^(init\.mp4|(0|[1-9]\d{0,6})\.m4s)$/;
const LIVE_FILE = /^(init-\d{1,9}\.mp4|\d{1,9}(\.\d{1,4})?\.m4s)$/;
/**
 * In keys, in place of the generation of a plan. Numbers of segments grow over all broadcasts of a
 * live stream, so files of two broadcasts never have the same key.
 */
const LIVE_PLAN = 0;
/** Of files after a takeover. */
const LIVE_VERSION_TEXT = /^[0-9a-z]{1,12}$/;
const PRIVATE_CONTROL = 'private, max-age=3600';
const PUBLIC_CONTROL = 'public, max-age=31536000, immutable';
/** Segments take at most some tens of MiB. */
const MAX_SEGMENT_BYTES = 256 * 1024 * 1024;

/**
 * The origin's answer is for this viewer only: an error, or a segment of an asset that plays early.
 */
const NOT_KEPT = new Error('the answer of the origin is not kept');

/**
 * Segments, and parts of broadcasts, which are cached once for all viewers: the signature of each
 * viewer is checked here and not part of the key. Viewers who wait for a part that does not exist
 * yet are one request at the origin. `forward` sends everything else, such as clips of broadcasts,
 * whose limits only the origin knows.
 */
export const edgeSegments = (
  app: FastifyInstance,
  deps: EdgeSegmentDeps,
  forward: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
): void => {
  const { origin, token, cache, lookups, access, reports, budgets, cacheTag } = deps;

  const fetchSegment = async (request: FastifyRequest, { signal }: Production): Promise<Uint8Array> => {
    const { range: _, 'if-range': _if, 'if-none-match': _none, ...headers } = forwardedHeaders(request);
    const response = await origin.fetch({
      method: 'GET',
      path: request.url,
      signal,
      headers: { ...headers, [EDGE_HEADER]: token },
    });
    const { 'cache-control': control, 'content-length': length } = response.headers;
    if (response.status >= 500) {
      response.body.destroy();
      throw new KinoraError('unavailable', { details: { stage: 'origin', status: response.status } });
    }
    if (response.status !== 200 || (control !== PRIVATE_CONTROL && control !== PUBLIC_CONTROL)) {
      response.body.destroy();
      throw NOT_KEPT;
    }
    const chunks: Buffer[] = [];
    let sizeBytes = 0;
    try {
      for await (const chunk of response.body as AsyncIterable<Buffer>) {
        sizeBytes += chunk.length;
        if (sizeBytes > MAX_SEGMENT_BYTES) throw new Error('the segment is too large');
        chunks.push(chunk);
      }
    } catch (cause) {
      throw new KinoraError(signal.aborted ? 'cancelled' : 'unavailable', { cause, details: { stage: 'origin' } });
    }
    if (sizeBytes !== Number(length))
      throw new KinoraError('unavailable', { details: { stage: 'origin', length, received: sizeBytes } });
    return Buffer.concat(chunks);
  };

  const sendSegment = async (request: SegmentRequest, reply: FastifyReply): Promise<unknown> => {
    const { playbackId, plan, rendition, file } = request.params;
    const isLive = plan === LIVE_VERSION;
    const version = isLive ? lastOf(request.query.v) : undefined;
    const isKept = isLive
      ? LIVE_FILE.test(file) && !request.query.clip && LIVE_VERSION_TEXT.test(version ?? '0')
      : PLAN.test(plan) && FILE.test(file);
    if (!isKept || !RENDITION.test(rendition)) return forward(request, reply);
    const row = isId(playbackId) ? await lookups.playbackIds.find(playbackId) : undefined;
    if (!row) throw new KinoraError('not_found');
    if (cacheTag !== undefined) reply.header(cacheTag, row.assetId);
    if (row.policy !== 'public') reply.header('cache-control', 'private, no-cache');
    const clip = isLive ? undefined : lastOf(request.query.segments);
    const child = renditionChild(plan, rendition, clip);
    const { signed, isPrivate } = await access.checkChild(row, accessRequest(request), child);
    if (isPrivate) reply.header('cache-control', 'private, no-cache');
    if (budgets.of(row) === 'stop') throw budgetSpent();
    if (signed && !isLive && !isInClip(file, clip)) throw rejection('Token signature is invalid');

    const name = version === undefined ? file : `${version}-${file}`;
    const key = { assetId: playbackId, plan: isLive ? LIVE_PLAN : Number(plan), rendition, file: name };
    const left = abortWhenLeft(reply);
    const produce = async (production: Production) => production.commit(key, await fetchSegment(request, production));
    const cached = await cache.get(key, produce, { signal: left }).catch((error: unknown) => {
      if (left.aborted) return undefined;
      if (error === NOT_KEPT) return NOT_KEPT;
      throw error;
    });
    // The client has disconnected.
    if (!cached) return reply.hijack();
    if (cached instanceof Error) return forward(request, reply);
    reply.header('cache-control', isPrivate ? PRIVATE_CONTROL : PUBLIC_CONTROL);
    const isAudio = rendition === AUDIO_RENDITION || alternateAudioTrack(rendition) !== undefined;
    return sendFile(request, reply, cached, isAudio ? 'audio/mp4' : 'video/mp4', (bytes, isWhole) => {
      if (bytes === 0 || !file.endsWith('.m4s')) return;
      const isComplete = isWhole && bytes === cached.sizeBytes;
      reports.count({ playbackId, rendition, file, bytes, ...(isLive && { live: true }) }, isComplete);
    });
  };

  const route = acceptViewers(app);
  route<Params>('/:playbackId/:plan/:rendition/:file', sendSegment);
};
