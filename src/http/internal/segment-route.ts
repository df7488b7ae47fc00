import type { FastifyPluginAsync } from 'fastify';
import { KinoraError } from '../../lib/errors.js';
import { GENERATION } from '../../media/plan/generation.js';
import { type InternalSignature, SIGNATURE_HEADER } from '../../nodes/internal-signature.js';
import { MESSAGE_TYPE, readSegmentMessage, SEGMENT_PATH } from '../../nodes/segment-message.js';
import type { SegmentProducer } from '../../packager/segment-producer.js';
import { sendFile } from '../stream/send-file.js';
import { abortWhenLeft } from '../stream/viewer-routes.js';

interface SegmentRouteDeps {
  readonly producer: Pick<SegmentProducer, 'segment'>;
  readonly signature: InternalSignature;
}

/** The plan of a twelve-hour asset has about 1 MB. */
const MAX_MESSAGE_BYTES = 32 * 2 ** 20;

/**
 * Sends segments to other servers of the installation, and creates those that this server lacks.
 */
export const segmentRoute =
  ({ producer, signature }: SegmentRouteDeps): FastifyPluginAsync =>
  async (app) => {
    const limits = { parseAs: 'string', bodyLimit: MAX_MESSAGE_BYTES } as const;
    app.addContentTypeParser(MESSAGE_TYPE, limits, (_, body, done) => done(null, body));
    app.post<{ Body: string }>(SEGMENT_PATH, async (request, reply) => {
      const { body, headers } = request;
      reply.header('cache-control', 'no-store');
      const validity =
        typeof body === 'string' ? signature.verify(SEGMENT_PATH, body, headers[SIGNATURE_HEADER]) : 'wrong';
      if (validity === 'late')
        request.log.warn(
          { remote: request.ip },
          'request of another server refused: their clocks differ by over a minute',
        );
      if (validity !== 'valid') throw new KinoraError('not_found');
      const { asset, rendition, file, priority, generation } = readSegmentMessage(body);
      // Of another release, which makes other bytes.
      if (generation !== GENERATION) throw new KinoraError('not_found');
      const left = abortWhenLeft(reply);
      const cached = await producer
        .segment(asset, rendition, file, { priority, signal: left, isForPeer: true })
        .catch((error: unknown) => {
          if (left.aborted) return undefined;
          throw error;
        });
      if (!cached) return reply.hijack();
      return sendFile(request, reply, cached, 'video/mp4');
    });
  };
