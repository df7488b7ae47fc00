import type { FastifyInstance } from 'fastify';
import { KinoraError } from '../../lib/errors.js';

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

/** A body is either missing or JSON in UTF-8; a missing content type is treated as JSON. */
export const readJsonBody = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (request: { headers: Headers }, body: Buffer) => {
    if (body.length === 0) return undefined;
    const { 'content-type': type, 'content-encoding': encoding = 'identity' } = request.headers;
    if (encoding.toLowerCase() !== 'identity') {
      throw new KinoraError('unsupported_media_type', { messages: ['Content-Encoding is not supported'] });
    }
    if (type !== undefined && type !== '' && !JSON_TYPE.test(type)) throw new KinoraError('unsupported_media_type');
    try {
      return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    } catch (cause) {
      throw new KinoraError('invalid_parameters', { messages: ['Request body is not valid JSON'], cause });
    }
  });
};

interface Headers {
  readonly 'content-type'?: string | undefined;
  readonly 'content-encoding'?: string | undefined;
}
