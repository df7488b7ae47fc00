import type { FastifyReply, FastifyRequest } from 'fastify';
import { KinoraError } from '../../lib/errors.js';
import { type ByteRange, parseByteRange } from './byte-range.js';

/**
 * The requested part of a file, for a response with 206; undefined means the whole file.
 * @throws KinoraError `range_not_satisfiable`
 */
export const requestedRange = (
  request: FastifyRequest,
  reply: FastifyReply,
  { etag, sizeBytes }: { readonly etag: string; readonly sizeBytes: number },
): ByteRange | undefined => {
  // A range of another version of the file is useless, so the whole file is sent if the validator
  // differs.
  const ifRange = request.headers['if-range'];
  const range =
    ifRange === undefined || ifRange === etag ? parseByteRange(request.headers.range, sizeBytes) : undefined;
  if (range === 'unsatisfiable') {
    reply.header('content-range', `bytes */${sizeBytes}`);
    throw new KinoraError('range_not_satisfiable');
  }
  if (range) reply.code(206).header('content-range', `bytes ${range.start}-${range.end}/${sizeBytes}`);
  return range;
};
