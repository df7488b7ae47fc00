import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyPluginAsync, FastifyReply } from 'fastify';
import { KinoraError } from '../../lib/errors.js';
import type { AppDeps } from '../app-deps.js';

/** Where the build writes the app. */
const BUILT_APP = fileURLToPath(new URL('../../console', import.meta.url));

const NOT_BUILT = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Kinora console</title>
<h1>The console is not built</h1>
<p>This server has no files of the console. Run <code>npm run build</code> in the directory of Kinora, then start the
server again. The API works without the console: see the <a href="/docs">API reference</a>.</p>
</html>
`;

/**
 * Only files and requests of this server. The app plays videos, loads images and uploads files from
 * the other URLs that the configuration gives it.
 */
const contentPolicy = (origins: readonly string[]): string => {
  const own = ["'self'", ...origins].join(' ');
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src ${own} data: blob:`,
    `media-src ${own} blob:`,
    `connect-src ${own}`,
    "font-src 'self'",
    "worker-src 'self' blob:",
    `frame-src ${own}`,
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');
};

/**
 * The app's pages and files below `/console`. Every path that is not a file is a page of the app.
 */
export const consoleFiles =
  ({
    consoleDir = BUILT_APP,
    apiUrl,
    ...urls
  }: Pick<AppDeps, 'consoleDir' | 'apiUrl' | 'streamUrl' | 'imageUrl'>): FastifyPluginAsync =>
  async (app) => {
    const names = await listFiles(consoleDir);
    await app.register(fastifyStatic, {
      root: consoleDir,
      serve: false,
      cacheControl: false,
      // The build compresses its files.
      preCompressed: true,
    });

    const sendPage = (reply: FastifyReply): FastifyReply => {
      const configuredUrls = [apiUrl(), urls.streamUrl, urls.imageUrl].filter((url) => url !== undefined);
      const origins = new Set(configuredUrls.map((url) => new URL(url).origin));
      reply.headers({ 'cache-control': 'no-cache', 'content-security-policy': contentPolicy([...origins]) });
      if (names.has('index.html')) return reply.sendFile('index.html');
      return reply.code(503).type('text/html; charset=utf-8').send(NOT_BUILT);
    };

    app.addHook('onRequest', async (_, reply) => {
      reply.headers({ 'referrer-policy': 'no-referrer', 'x-content-type-options': 'nosniff' });
    });
    app.get('/', async (_, reply) => sendPage(reply));
    app.get<{ Params: { '*': string } }>('/*', async ({ params }, reply) => {
      const name = params['*'];
      if (name === 'index.html' || !names.has(name)) {
        if (name.startsWith('files/')) throw new KinoraError('not_found');
        return sendPage(reply);
      }
      // Their names contain a hash of their content.
      const isHashed = name.startsWith('files/');
      reply.header('vary', 'accept-encoding');
      reply.header('cache-control', isHashed ? 'public, max-age=31536000, immutable' : 'no-cache');
      return reply.sendFile(name);
    });
  };

/** The files of the built app, relative to its directory; only these are ever opened. */
const listFiles = async (directory: string): Promise<ReadonlySet<string>> => {
  try {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    return new Set(files.map(({ parentPath, name }) => relative(directory, join(parentPath, name))));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Set();
    throw error;
  }
};
