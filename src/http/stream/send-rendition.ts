import type { FastifyReply, FastifyRequest } from 'fastify';
import { allowsFile } from '../../domain/playback/allows-file.js';
import type { OpenRendition } from '../../domain/renditions/open-rendition.js';
import { rejection } from '../../domain/signing/verify-token.js';
import type { Delivery, DeliveryCounter } from '../../domain/usage/delivery-counter.js';
import { KinoraError } from '../../lib/errors.js';
import { lastOf } from '../../lib/last-of.js';
import { contentDisposition } from './content-disposition.js';
import { immutableFor, type OpenedPlayback } from './playback-opener.js';
import { sendFile } from './send-file.js';
import type { Query } from './viewer-routes.js';

interface RenditionDeps {
  readonly openRendition: OpenRendition;
  readonly deliveries: Pick<DeliveryCounter, 'count'>;
}

const FILE_NAME = /^[a-z0-9-]+\.(mp4|m4a)$/;

/**
 * Sends a file for download or direct playback; `download` in the query, even with a token, sets
 * its name.
 * @throws KinoraError `not_found` when the asset has no such ready file, `forbidden` with DRM, or
 * when the token allows less than the file contains
 */
export const sendRendition = async (
  request: FastifyRequest<{ Querystring: Query }>,
  reply: FastifyReply,
  { openRendition, deliveries }: RenditionDeps,
  { playable, access }: OpenedPlayback,
  name: string,
): Promise<FastifyReply> => {
  const { assetId, environmentId, policy, plan } = playable;
  const extension = FILE_NAME.exec(name)?.[1];
  if (extension === undefined) throw new KinoraError('not_found');
  // Unlike segments, a file can't be encrypted.
  if (policy === 'drm') throw rejection('Static renditions are not available with DRM');
  const opened = await openRendition(assetId, name);
  if (!opened) throw new KinoraError('not_found');
  try {
    const { width, height } = opened.rendition;
    const size = extension === 'm4a' ? undefined : { width: width ?? Infinity, height: height ?? Infinity };
    if (!allowsFile(playable, access, size)) throw rejection('Playback is restricted');
    reply.header('cache-control', immutableFor({ playable, access }));
    const download = lastOf(request.query.download);
    if (download) reply.header('content-disposition', contentDisposition(download, name));
    const tier = opened.rendition.resolution_tier as Delivery['tier'];
    return await sendFile(request, reply, opened, extension === 'm4a' ? 'audio/mp4' : 'video/mp4', (bytes) => {
      const seconds = (bytes / opened.sizeBytes) * plan.durationSeconds;
      deliveries.count({ environmentId, assetId, tier, seconds, bytes });
    });
  } finally {
    await opened.release();
  }
};
