import type { FastifyPluginAsync } from 'fastify';
import type { OpenMaster } from '../../domain/assets/open-master.js';
import { isManifest, openShotList } from '../../domain/assets/shot-list.js';
import type { DomainContext } from '../../domain/context.js';
import { KinoraError } from '../../lib/errors.js';
import { lastOf } from '../../lib/last-of.js';
import { planShotImage } from '../../packager/image-jobs.js';
import type { ImageProducer } from '../../packager/image-producer.js';
import { sendFile } from './send-file.js';
import { sendText } from './send-text.js';
import { abortWhenLeft, acceptViewers } from './viewer-routes.js';

export interface ArtifactDeps extends Pick<DomainContext, 'database' | 'clock' | 'artifactUrls'> {
  readonly openMaster: OpenMaster;
  readonly images: ImageProducer;
}

/** The URLs expire, and their files may be removed at any time. */
const CACHE_CONTROL = 'private, max-age=60';
const IMAGE = /^(0|[1-9]\d{0,6})\.webp$/;

/** Routes for files with signed URLs instead of a playback ID: masters and shots. */
export const artifactRoutes = (deps: ArtifactDeps): FastifyPluginAsync => {
  return async (app) => {
    const route = acceptViewers(app);

    route<{ assetId: string; signature: string; file: string }>(
      '/master/:assetId/:signature/:file',
      async (request, reply) => {
        reply.header('cache-control', 'private, no-cache');
        const opened = await deps.openMaster({ ...request.params, expires: lastOf(request.query.expires) });
        try {
          const { file } = request.params;
          reply.header('content-disposition', `attachment; filename="${file}"`);
          return await sendFile(request, reply, opened, file.endsWith('.m4a') ? 'audio/mp4' : 'video/mp4');
        } finally {
          await opened.release();
        }
      },
    );

    route<{ assetId: string; file: string }>('/artifacts/shots/:assetId/:file', async (request, reply) => {
      reply.header('cache-control', 'private, no-cache');
      const { assetId, file } = request.params;
      const [expires, signature] = [lastOf(request.query.expires), lastOf(request.query.sig)];
      const list = await openShotList(deps, { assetId, file, expires, signature });
      reply.header('cache-control', CACHE_CONTROL);
      if (isManifest(file)) return sendText(request, reply, 'application/json', JSON.stringify(list.manifest()));
      const shot = list.shots[Number(IMAGE.exec(file)?.[1] ?? -1)];
      if (!shot) throw new KinoraError('not_found');
      const left = abortWhenLeft(reply);
      const image = planShotImage(list.video, shot);
      const cached = await deps.images
        .image({ id: assetId, plan: list.plan }, image, { signal: left })
        .catch((error: unknown) => {
          if (left.aborted) return undefined;
          throw error;
        });
      // The client has disconnected.
      if (!cached) return reply.hijack();
      return sendFile(request, reply, cached, 'image/webp');
    });
  };
};
