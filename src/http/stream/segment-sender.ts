import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ContentKeys, keysOf } from '../../domain/drm/content-keys.js';
import { EDGE_HEADER } from '../../domain/edge/edge-token.js';
import { isInClip } from '../../domain/playback/write-playlist.js';
import { rejection } from '../../domain/signing/verify-token.js';
import type { DeliveryCounter } from '../../domain/usage/delivery-counter.js';
import { partOf, segmentDelivery } from '../../domain/usage/segment-delivery.js';
import { type AdditionalRenditions, listVideo } from '../../media/plan/find-segment.js';
import type { SegmentProducer } from '../../packager/segment-producer.js';
import { EncryptedSegments } from './encrypted-segments.js';
import { immutableFor, type OpenedPlayback } from './playback-opener.js';
import { sendFile } from './send-file.js';
import { abortWhenLeft } from './viewer-routes.js';

export interface SegmentSenderDeps {
  readonly producer: Pick<SegmentProducer, 'segment'>;
  readonly contentKeys: Pick<ContentKeys, 'get'>;
  readonly deliveries: Pick<DeliveryCounter, 'count'>;
  /** Whether a header is that of an edge, which counts what it sends. */
  readonly isEdge?: (header: unknown) => boolean;
}

interface Target {
  readonly rendition: string;
  readonly file: string;
  readonly clip: string | undefined;
}

/**
 * Sends segments and init segments of opened playback IDs, encrypted for DRM, and counts what it
 * sends.
 */
export class SegmentSender {
  readonly #deps: SegmentSenderDeps;
  readonly #encrypted: EncryptedSegments;

  constructor(deps: SegmentSenderDeps) {
    this.#deps = deps;
    this.#encrypted = new EncryptedSegments(deps.producer);
  }

  async send(
    request: FastifyRequest,
    reply: FastifyReply,
    opened: OpenedPlayback,
    { rendition, file, clip }: Target,
    additional: AdditionalRenditions | undefined,
  ): Promise<unknown> {
    const { producer, contentKeys, deliveries, isEdge } = this.#deps;
    const { playable, access } = opened;
    const { environmentId, assetId, plan } = playable;
    if (access.signed && !isInClip(file, clip)) throw rejection('Token signature is invalid');
    const isVideo = listVideo(plan.video).some(({ name }) => name === rendition);
    const track = isVideo ? 'video' : 'audio';
    const keys = await keysOf(contentKeys, playable);
    const left = abortWhenLeft(reply);
    const asset = { id: assetId, plan, isLocal: playable.early === true, additional };
    const sent = await producer
      .segment(asset, rendition, file, { signal: left })
      .then((cached) => (keys ? this.#encrypted.encrypt(asset, { rendition, file, track }, cached, keys) : cached))
      .catch((error: unknown) => {
        if (left.aborted) return undefined;
        throw error;
      });
    // The client has disconnected.
    if (!sent) return reply.hijack();
    reply.header('cache-control', immutableFor(opened));
    return sendFile(request, reply, sent, isVideo ? 'video/mp4' : 'audio/mp4', (bytes, isWhole) => {
      const isCounted = bytes > 0 && !isEdge?.(request.headers[EDGE_HEADER]);
      const whole = isCounted ? segmentDelivery(plan, rendition, file, additional) : undefined;
      const delivered = isWhole && bytes === sent.sizeBytes ? whole : whole && partOf(whole);
      if (delivered) deliveries.count({ environmentId, assetId, ...delivered, bytes });
    });
  }
}
