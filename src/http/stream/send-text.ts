import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { matchesEtag } from './byte-range.js';
import { requestedRange } from './requested-range.js';

/** A text with its response headers. */
export interface PreparedText {
  readonly body: string | Buffer;
  readonly etag: string;
  readonly sizeBytes: number;
}

const etagOf = (text: string | Uint8Array): string =>
  `"${createHash('sha256').update(text).digest('hex').slice(0, 32)}"`;

/**
 * For a text that is sent more than once. It stays a string, which is written together with the
 * header.
 */
export const prepareText = (text: string): PreparedText => ({
  body: text,
  etag: etagOf(text),
  sizeBytes: Buffer.byteLength(text),
});

/**
 * Responds with a text, a part of it, or 304.
 * @throws KinoraError `range_not_satisfiable`
 */
export const sendPrepared = (
  request: FastifyRequest,
  reply: FastifyReply,
  contentType: string,
  { body, etag, sizeBytes }: PreparedText,
): FastifyReply => {
  reply.headers({ etag, 'accept-ranges': 'bytes' });
  if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send();
  const range = requestedRange(request, reply, { etag, sizeBytes });
  const part = range && (typeof body === 'string' ? Buffer.from(body) : body).subarray(range.start, range.end + 1);
  return reply.header('content-type', contentType).send(part ?? body);
};

/** The same for a text that was made for this request. Its content type is sent unchanged. */
export const sendText = (
  request: FastifyRequest,
  reply: FastifyReply,
  contentType: string,
  text: string | Uint8Array,
): FastifyReply => {
  // Bytes, because the framework adds a character set to the content type of JSON strings.
  const body = typeof text === 'string' ? Buffer.from(text) : Buffer.from(text.buffer, text.byteOffset, text.length);
  return sendPrepared(request, reply, contentType, { body, etag: etagOf(text), sizeBytes: body.length });
};
