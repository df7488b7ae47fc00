import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyPluginAsync } from 'fastify';
import { acceptsGzip } from './accepts-gzip.js';
import { matchesEtag } from './byte-range.js';

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.md': 'text/plain; charset=utf-8',
};
/** The build adds a hash of the content. */
const HASHED = /-[\w-]{8}\.\w+$/;
const TEMPLATE = 'player.html';

export interface PlayerFiles {
  /** The page with `{{name}}` in place of its values. */
  readonly template: string;
  /** The files of the page under `/player/`, which is never a playback ID. */
  readonly routes: FastifyPluginAsync;
}

/**
 * Loads what `npm run build` has made from the folder `player/`. The names of the files change with
 * their content.
 */
export const loadPlayerFiles = async (): Promise<PlayerFiles> => {
  const folder = new URL('../../pages/player/', import.meta.url);
  const names = (await readdir(folder)).filter((name) => TYPES[extname(name)]);
  const files = await Promise.all(names.map(async (name) => ({ name, bytes: await readFile(new URL(name, folder)) })));
  return {
    template: await readFile(new URL(TEMPLATE, folder), 'utf8'),
    async routes(app) {
      for (const { name, bytes } of files) {
        const etag = `"${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}"`;
        let packed: Promise<Buffer> | undefined;
        app.get(`/player/${name}`, async (request, reply) => {
          reply.headers({
            etag,
            'cache-control': HASHED.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache',
            vary: 'Accept-Encoding',
            'x-content-type-options': 'nosniff',
          });
          if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send();
          reply.type(TYPES[extname(name)]!);
          if (!acceptsGzip(request)) return reply.send(bytes);
          packed ??= promisify(gzip)(bytes, { level: 9 });
          return reply.header('content-encoding', 'gzip').send(await packed);
        });
      }
    },
  };
};
