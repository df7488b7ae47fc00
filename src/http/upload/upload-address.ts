import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { Database } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { findUploadById } from '../../db/tables/upload.js';
import type { UploadUrls } from '../../domain/uploads/upload-url.js';
import type { UploadWriters } from '../../domain/uploads/upload-writer.js';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import { errorAnswer } from '../errors.js';
import { corsHeaders, preflightHeaders, UPLOAD_METHODS } from './cors.js';
import { receiveUpload } from './receive-upload.js';

export interface UploadAddressDeps {
  readonly database: Database;
  readonly writers: UploadWriters;
  readonly urls: UploadUrls;
}

/** The addresses that `createUploadUrls` makes. */
export const UPLOAD_PREFIX = '/u/';

type UploadRequest = FastifyRequest<{ Params: { uploadId: string }; Querystring: Record<string, unknown> }>;

/** A sender that is refused may still send for so long: a browser reads the answer only when it has sent everything. */
const REFUSED_BODY_MS = 60_000;

/** `/u/{upload}`: where the file of a direct upload is sent to, whole or in chunks. */
export const uploadAddress = ({ database, writers, urls }: UploadAddressDeps): FastifyPluginAsync => {
  return async (scope) => {
    // The body is a file whatever its type is said to be, even one that cannot be read.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
    scope.addHook('onRequest', async (request, reply) => {
      delete request.raw.headers['content-type'];
      // Until the upload is known: also who may not be told more must be able to read the refusal.
      reply.headers({ 'cache-control': 'no-store', ...corsHeaders('*', undefined) });
    });
    scope.setErrorHandler((error, request, reply) => {
      const answer = errorAnswer(error);
      if (answer.status >= 500 && !request.raw.destroyed) request.log.error({ error }, 'request failed');
      return reply.code(answer.status).headers(answer.headers).send(answer.body);
    });
    // Whatever of the body nobody has read is read and forgotten, for a while.
    scope.addHook('onResponse', async (request) => {
      if (request.raw.complete || request.raw.destroyed) return;
      const limit = setTimeout(() => request.raw.destroy(), REFUSED_BODY_MS);
      request.raw.once('close', () => clearTimeout(limit));
      request.raw.resume();
    });

    /** Answers preflights, refuses what may not go on; undefined when the answer is complete. */
    const admit = async (request: UploadRequest, reply: FastifyReply): Promise<Row<'upload'> | undefined> => {
      const { uploadId } = request.params;
      const upload = isId(uploadId) ? await findUploadById(database.queryable, uploadId) : undefined;
      if (upload) {
        for (const name of Object.keys(corsHeaders('*', undefined))) reply.removeHeader(name);
        reply.headers(corsHeaders(upload.cors_origin, request.headers.origin));
      }
      if (request.method === 'OPTIONS') {
        const allowed = !upload || reply.hasHeader('access-control-allow-origin');
        if (allowed) reply.headers(preflightHeaders(request.headers['access-control-request-headers'] as string));
        reply.code(204).send();
        return undefined;
      }
      if (!['PUT', 'POST', 'PATCH'].includes(request.method)) {
        reply.header('allow', UPLOAD_METHODS);
        throw new KinoraError('method_not_allowed');
      }
      if (!upload) throw new KinoraError('not_found');
      if (!urls.isSigned(upload, request.query.expires, request.query.sig))
        throw new KinoraError('forbidden', { messages: ['The upload address is not valid.'] });
      return upload;
    };

    scope.route<{ Params: { uploadId: string }; Querystring: Record<string, unknown> }>({
      method: ['GET', 'HEAD', 'OPTIONS', 'PUT', 'POST', 'PATCH', 'DELETE'],
      url: `${UPLOAD_PREFIX}:uploadId`,
      exposeHeadRoute: false,
      config: { receivesFiles: true },
      handler: async (request, reply) => {
        const upload = await admit(request, reply);
        if (!upload) return reply;
        const { isComplete, receivedBytes } = await receiveUpload(writers, upload.id, request, reply);
        if (receivedBytes > 0 && !isComplete) reply.header('range', `bytes=0-${receivedBytes - 1}`);
        return reply.code(isComplete ? 200 : 308).send();
      },
    });
  };
};
