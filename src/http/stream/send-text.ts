import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { matchesEtag } from './byte-range.js';
import { requestedRange } from './requested-range.js';

/**
 * Answers with a text that was made for this request, a part of it, or that it has not changed. Its type is sent as it is given.
 * @throws KinoraError `range_not_satisfiable`
 */
export const sendText = (
  request: FastifyRequest,
  reply: FastifyReply,
  contentType: string,
  text: string | Uint8Array,
): FastifyReply => {
  const etag = `"${createHash('sha256').update(text).digest('hex').slice(0, 32)}"`;
  const bytes = typeof text === 'string' ? Buffer.from(text) : Buffer.from(text.buffer, text.byteOffset, text.length);
  reply.headers({ etag, 'accept-ranges': 'bytes' });
  if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send();
  const range = requestedRange(request, reply, { etag, sizeBytes: bytes.length });
  return reply.header('content-type', contentType).send(range ? bytes.subarray(range.start, range.end + 1) : bytes);
};
