import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { lastOf } from '../../api/validate/list-query.js';
import { matchesEtag } from './byte-range.js';
import type { Query } from './viewer-routes.js';

/** True for the `Accept` header of a browser that opens a URL; players and tools accept anything or a playlist. */
export const acceptsHtml = (accept: string | undefined): boolean =>
  accept?.split(',').some((part) => /^\s*text\/html\s*(;|$)/i.test(part) && !/;\s*q=0(\.0*)?\s*(;|$)/i.test(part)) ??
  false;

const require = createRequire(import.meta.url);
const script = 'text/javascript; charset=utf-8';
const assets = {
  'player.js': { file: new URL('./player/player.js', import.meta.url), type: script },
  'player.css': { file: new URL('./player/player.css', import.meta.url), type: 'text/css; charset=utf-8' },
  'hls.min.js': { file: require.resolve('hls.js/dist/hls.min.js'), type: script },
  'hls.worker.js': { file: require.resolve('hls.js/dist/hls.worker.js'), type: script },
};

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  // hls.js creates the elements of text tracks with an empty file as their URL.
  "media-src 'self' blob: data:",
  "worker-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

const PLAYBACK_TOKEN = 'playback-token';
const LICENSE_TOKEN = 'drm-token';

/**
 * The page's URL may name its tokens like the attributes of the original player. `token` has priority over
 * `playback-token`.
 */
export const readPageTokens = (query: Query): void => {
  if (!lastOf(query.token) && query[PLAYBACK_TOKEN] !== undefined) query.token = lastOf(query[PLAYBACK_TOKEN]);
};

/** The query of the page's URL for the playlist, without the license token. */
const playlistQuery = ({ url, query }: FastifyRequest<{ Querystring: Query }>): string => {
  const parts = url.includes('?') ? url.slice(url.indexOf('?') + 1).split('&') : [];
  const others = parts.filter((part) => ![PLAYBACK_TOKEN, LICENSE_TOKEN, 'token'].includes(part.split('=')[0]!));
  const token = lastOf(query.token);
  const all = [...others.filter((part) => part !== ''), ...(token ? [`token=${encodeURIComponent(token)}`] : [])];
  return all.length > 0 ? `?${all.join('&')}` : '';
};

export interface PageState {
  readonly status: number;
  readonly errored?: boolean;
  readonly title?: string | undefined;
  /** Key systems with a license URL for the playback ID; undefined without DRM. */
  readonly keySystems?: readonly string[] | undefined;
}

export interface Player {
  /** The files of the page under `/player/`, which is never a playback ID. */
  readonly routes: FastifyPluginAsync;
  /**
   * The page that plays a playback ID, or says why it can't. `status` is that of the playlist; `errored` means that
   * it is final.
   */
  page(
    request: FastifyRequest<{ Querystring: Query }>,
    reply: FastifyReply,
    playbackId: string,
    state: PageState,
  ): FastifyReply;
}

export const loadPlayer = async (): Promise<Player> => {
  const template = await readFile(new URL('./player/player.html', import.meta.url), 'utf8');
  const files = await Promise.all(
    Object.entries(assets).map(async ([name, { file, type }]) => ({ name, type, bytes: await readFile(file) })),
  );
  return {
    async routes(app) {
      for (const { name, type, bytes } of files) {
        const etag = `"${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}"`;
        app.get(`/player/${name}`, async (request, reply) => {
          reply.headers({ etag, 'cache-control': 'public, max-age=300', 'x-content-type-options': 'nosniff' });
          if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send();
          return reply.type(type).send(bytes);
        });
      }
    },
    page(request, reply, playbackId, { status, errored, title, keySystems }) {
      const values: Record<string, string> = {
        title: title ?? 'Video',
        source: `/${encodeURIComponent(playbackId)}.m3u8${playlistQuery(request)}`,
        status: errored ? 'errored' : String(status),
        keySystems: keySystems?.join(' ') ?? '',
        licenseToken: (keySystems && lastOf(request.query[LICENSE_TOKEN])) ?? '',
      };
      const html = template.replace(/\{\{(\w+)\}\}/g, (_, name: string) => escapeHtml(values[name]!));
      return reply
        .code(status)
        .headers({
          'content-security-policy': POLICY,
          'referrer-policy': 'strict-origin-when-cross-origin',
          'x-content-type-options': 'nosniff',
        })
        .type('text/html; charset=utf-8')
        .send(html);
    },
  };
};

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
