import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { Database } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { findUploadById } from '../../db/tables/assets/upload.js';
import { isKinoraError, KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import type { UploadSessions } from '../../uploads/upload-sessions.js';
import type { UploadUrls } from '../../uploads/upload-urls.js';
import { errorResponse } from '../plugins/errors.js';
import { corsHeaders, preflightHeaders } from './cors.js';
import { receiveTus, TUS_OPTIONS, TUS_VERSION } from './receive-tus.js';
import { receiveUpload } from './receive-upload.js';

export interface UploadAddressDeps {
  readonly database: Database;
  readonly sessions: UploadSessions;
  readonly urls: UploadUrls;
}

/** The prefix of the URLs that `UploadUrls` makes; the tus URLs have the other prefix instead. */
const UPLOAD_PREFIX = '/u/';
const TUS_PREFIX = '/tus/';
export const FILE_PREFIXES = [UPLOAD_PREFIX, TUS_PREFIX] as const;

type UploadRequest = FastifyRequest<{ Params: { uploadId: string }; Querystring: Record<string, unknown> }>;

/**
 * A refused sender may continue for this long: a browser reads the response only when it has sent
 * everything.
 */
const REFUSED_BODY_MS = 60_000;

/** Methods that HTTP servers know but the framework doesn't by default. */
const OTHER_METHODS = (
  'ACL BIND CHECKOUT COPY LINK LOCK M-SEARCH MERGE MKACTIVITY MKCALENDAR MKCOL MOVE NOTIFY PROPFIND PROPPATCH PURGE ' +
  'REBIND REPORT SEARCH SOURCE SUBSCRIBE UNBIND UNLINK UNLOCK UNSUBSCRIBE'
).split(' ');

/** How a file is sent. */
interface Protocol {
  readonly prefix: string;
  readonly methods: string;
  /** The response headers that a page from another origin can read. */
  readonly exposedHeaders: string;
  /** The protocol's headers in every response … */
  readonly always: Readonly<Record<string, string>>;
  /** … and in a response to `OPTIONS`. */
  readonly options: Readonly<Record<string, string>>;
  receive(upload: Row<'upload'>, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>;
}

/**
 * The URL to which the file of a direct upload is sent: whole or in chunks by PUT, or with the tus
 * protocol.
 */
export const uploadAddress = (deps: UploadAddressDeps): FastifyPluginAsync => {
  const { sessions, urls } = deps;
  const put: Protocol = {
    prefix: UPLOAD_PREFIX,
    methods: 'PUT, POST, PATCH, OPTIONS',
    exposedHeaders: 'Range',
    always: {},
    options: {},
    receive: async (upload, request, reply) => {
      const { isComplete, receivedBytes } = await receiveUpload(sessions, upload.id, request, reply);
      if (receivedBytes > 0 && !isComplete) reply.header('range', `bytes=0-${receivedBytes - 1}`);
      return reply.code(isComplete ? 200 : 308).send();
    },
  };
  const tus: Protocol = {
    prefix: TUS_PREFIX,
    methods: 'POST, HEAD, PATCH, OPTIONS',
    exposedHeaders: 'Location, Upload-Offset, Upload-Length, Upload-Defer-Length, Tus-Resumable',
    always: TUS_VERSION,
    options: TUS_OPTIONS,
    receive: async (upload, request, reply) => {
      const url = urls.urlOf(upload).replace(UPLOAD_PREFIX, TUS_PREFIX);
      return receiveTus(sessions, { uploadId: upload.id, url }, request, reply);
    },
  };
  return async (scope) => {
    // Register every method, so that each gets our refusal.
    for (const method of OTHER_METHODS) scope.addHttpMethod(method);
    for (const protocol of [put, tus]) await scope.register(addressOf(protocol, deps));
  };
};

const addressOf = (protocol: Protocol, { database, urls }: UploadAddressDeps): FastifyPluginAsync => {
  const { methods, exposedHeaders, always } = protocol;
  return async (scope) => {
    // The body is a file whatever its content type, even an invalid one.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
    scope.addHook('onRequest', async (request, reply) => {
      request.raw.headers['content-type'] = 'application/octet-stream';
      // Until the upload is known, so that every page can read the refusal.
      reply.headers({ 'cache-control': 'no-store', ...always, ...corsHeaders('*', undefined, exposedHeaders) });
    });
    scope.setErrorHandler((error, request, reply) => {
      const response = errorResponse(error);
      // Concurrent requests are the sender's fault, and a broken connection is nobody's.
      const isOurs = response.status >= 500 && !isKinoraError(error, 'upload_busy') && !request.raw.destroyed;
      if (isOurs) request.log.error({ error }, 'request failed');
      return reply.code(response.status).headers(response.headers).send(response.body);
    });
    // Reads and discards the unread rest of the body, for a limited time.
    scope.addHook('onResponse', async (request) => {
      if (request.raw.complete || request.raw.destroyed) return;
      const limit = setTimeout(() => request.raw.destroy(), REFUSED_BODY_MS);
      request.raw.once('close', () => clearTimeout(limit));
      request.raw.resume();
    });

    /** Answers preflights and refuses invalid requests; undefined when the response is complete. */
    const admit = async (request: UploadRequest, reply: FastifyReply): Promise<Row<'upload'> | undefined> => {
      const { uploadId } = request.params;
      const upload = isId(uploadId) ? await findUploadById(database.queryable, uploadId) : undefined;
      if (upload) {
        for (const name of Object.keys(corsHeaders('*', undefined, exposedHeaders))) reply.removeHeader(name);
        reply.headers(corsHeaders(upload.cors_origin, request.headers.origin, exposedHeaders));
      }
      if (request.method === 'OPTIONS') {
        const allowed = !upload || reply.hasHeader('access-control-allow-origin');
        if (allowed) reply.headers(preflightHeaders(request.headers, methods));
        reply.code(204).headers(protocol.options).send();
        return undefined;
      }
      if (!methods.split(', ').includes(request.method)) {
        reply.header('allow', methods);
        throw new KinoraError('method_not_allowed');
      }
      if (!upload) throw new KinoraError('not_found');
      if (!urls.isSigned(upload, request.query.expires, request.query.sig))
        throw new KinoraError('forbidden', { messages: ['The upload URL is not valid.'] });
      return upload;
    };

    scope.route<{ Params: { uploadId: string }; Querystring: Record<string, unknown> }>({
      method: scope.supportedMethods,
      url: `${protocol.prefix}:uploadId`,
      exposeHeadRoute: false,
      config: { receivesFiles: true },
      handler: async (request, reply) => {
        const upload = await admit(request, reply);
        return upload ? protocol.receive(upload, request, reply) : reply;
      },
    });
  };
};
