import type { Socket } from 'node:net';
import type { ConnectionError, FastifyReply, FastifyRequest } from 'fastify';
import { KinoraError } from '../../lib/errors.js';
import { errorResponse } from './errors.js';

const invalid = (message: string) => new KinoraError('invalid_parameters', { messages: [message] });

/**
 * Refuses a request that does not name exactly one host (RFC 9112, 3.2; HTTP/1.0 allows none).
 * Node.js would use the first of several. Undefined when the request is valid.
 */
export const rejectHost = (request: FastifyRequest, reply: FastifyReply): FastifyReply | undefined => {
  const hosts = countHosts(request.raw.rawHeaders);
  if (hosts === 1 || (hosts === 0 && request.raw.httpVersion !== '1.1')) return undefined;
  const { status, body } = errorResponse(invalid(`The request has ${hosts ? 'more than one' : 'no'} Host header`));
  return reply.code(status).headers({ 'Cache-Control': 'no-store', Connection: 'close' }).send(body);
};

/** `headersDistinct` would also work, but creates an object of all headers for every request. */
const countHosts = (rawHeaders: readonly string[]): number => {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts;
};

/** Parser failures that have their own status, as in Node.js. */
const PARSER_ERRORS: Readonly<Record<string, () => KinoraError>> = {
  ERR_HTTP_REQUEST_TIMEOUT: () => new KinoraError('request_timeout'),
  HPE_HEADER_OVERFLOW: () => new KinoraError('headers_too_large'),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: () => new KinoraError('payload_too_large'),
};

/**
 * Answers what Node.js can't parse as a request, in the API's format, and closes the connection.
 */
export const responseMalformed = (error: ConnectionError, socket: Socket): void => {
  // A refusal in the middle of another response would be read as a part of it.
  const { _httpMessage: responding } = socket as Socket & { readonly _httpMessage?: FastifyReply['raw'] | null };
  if (error.code !== 'ECONNRESET' && socket.writable && !responding?.headersSent) {
    const { status, body } = errorResponse(PARSER_ERRORS[error.code]?.() ?? invalid('The request is not valid HTTP'));
    const text = JSON.stringify(body);
    socket.write(
      // The reason phrase may be empty (RFC 9112, 4).
      `HTTP/1.1 ${status} \r\nContent-Type: application/json; charset=utf-8\r\n` +
        `Content-Length: ${Buffer.byteLength(text)}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n${text}`,
    );
  }
  socket.destroy(error);
};
