import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { matchesEtag } from './byte-range.js';

/** Answers with a text that was made for this request, or that it has not changed. Its type is sent as it is given. */
export const sendText = (
  request: FastifyRequest,
  reply: FastifyReply,
  contentType: string,
  text: string,
): FastifyReply => {
  const etag = `"${createHash('sha256').update(text).digest('hex').slice(0, 32)}"`;
  reply.headers({ etag, 'content-type': contentType });
  return matchesEtag(request.headers['if-none-match'], etag) ? reply.code(304).send() : reply.send(Buffer.from(text));
};
