import { Readable } from 'node:stream';
import { Server } from '@tus/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isKinoraError } from '../../lib/errors.js';
import type { UploadSession } from '../../uploads/upload-session.js';
import type { UploadSessions } from '../../uploads/upload-sessions.js';
import { receiveBody } from './receive-upload.js';
import { noLocker, TUS_EXTENSIONS, TusStore } from './tus-store.js';

/** In every response, whoever answers (tus 1.0, "Tus-Resumable"). */
export const TUS_VERSION = { 'tus-resumable': '1.0.0' } as const;

/** The server's features in the response to `OPTIONS` (tus 1.0, "OPTIONS"). */
export const TUS_OPTIONS = {
  'tus-version': '1.0.0',
  'tus-extension': TUS_EXTENSIONS.join(','),
} as const;

interface TusUpload {
  readonly uploadId: string;
  /** The URL in this protocol. */
  readonly url: string;
}

/**
 * Answers one request of the tus protocol for an upload.
 * @throws KinoraError as `UploadSessions.open` and `UploadSession`
 */
export const receiveTus = async (
  sessions: UploadSessions,
  upload: TusUpload,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> => {
  const session = await openUnlessLocked(sessions, upload.uploadId);
  if (!session) return reject(reply, 423, 'Another request is sending data.');
  let response: Response;
  try {
    response = await receiveBody(request, reply, (body) => ask(session, upload, request, body));
  } finally {
    // Before the response, because that promises that the bytes are stored.
    await session.close();
  }
  response.headers.forEach((value, name) => {
    // Which origins may read the response depends on the upload.
    if (!/^(?:access-control|content)-/.test(name)) reply.header(name, value);
  });
  return response.ok ? reply.code(response.status).send() : reject(reply, response.status, await response.text());
};

/** Error codes for refusals of the protocol, if not `invalid_parameters`. */
const REFUSALS: Readonly<Record<number, string>> = { 403: 'forbidden', 413: 'payload_too_large', 423: 'unavailable' };

const reject = (reply: FastifyReply, status: number, message: string): FastifyReply =>
  reply.code(status).send({ error: { type: REFUSALS[status] ?? 'invalid_parameters', messages: [message.trim()] } });

/** Clients repeat a request after 423; after 503 they would create the upload again. */
const openUnlessLocked = async (sessions: UploadSessions, uploadId: string): Promise<UploadSession | undefined> => {
  try {
    return await sessions.open(uploadId);
  } catch (error) {
    if (isKinoraError(error, 'upload_busy')) return undefined;
    throw error;
  }
};

const ask = async (
  session: UploadSession,
  { uploadId, url }: TusUpload,
  request: FastifyRequest,
  body: Readable,
): Promise<Response> => {
  let failure: Error | undefined;
  const server = new Server({
    path: '/',
    datastore: new TusStore(uploadId, session),
    locker: noLocker,
    getFileIdFromRequest: () => uploadId,
    namingFunction: () => uploadId,
    generateUrl: () => url,
    onResponseError: (_request, error) => {
      // Errors without a protocol status come from Kinora.
      if (error instanceof Error && !('status_code' in error)) failure = error;
      return undefined;
    },
  });
  const response = await server.handleWeb(webRequest(request, url, body));
  if (failure) throw failure;
  return response;
};

/** Keeps the protocol's headers and drops those of proxies; the content type is always the same. */
const webRequest = ({ headers, method }: FastifyRequest, url: string, body: Readable): Request => {
  const own = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (/^(?:tus-|upload-|content-length$)/.test(name)) own.set(name, String(value));
  }
  const isPatch = method === 'PATCH' || (method === 'POST' && headers['x-http-method-override'] === 'PATCH');
  if (!isPatch) return new Request(url, { method, headers: own });
  own.set('content-type', 'application/offset+octet-stream');
  // A stream requires `duplex` (Fetch, 5.3), but not every type declaration has it.
  const init = { method: 'PATCH', headers: own, body: Readable.toWeb(body), duplex: 'half' };
  return new Request(url, init as RequestInit);
};
