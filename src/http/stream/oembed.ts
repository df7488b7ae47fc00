import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AccessCheck } from '../../domain/playback/access-check.js';
import type { Playable, PlayableFinder } from '../../domain/playback/playable-finder.js';
import { isKinoraError } from '../../lib/errors.js';
import { escapeHtml } from '../../lib/escape-html.js';
import { isId } from '../../lib/ids.js';
import { lastOf } from '../../lib/last-of.js';
import { element, textElement, xmlDocument } from '../../media/playlist/xml.js';
import { parseQuery } from '../plugins/parse-query.js';
import { DEFAULT_TITLE, type EmbedSize, findThumbnail, fitSize, videoSize } from './embed.js';
import { pageTokens } from './page-query.js';
import { accessRequest } from './playback-opener.js';
import type { Query } from './viewer-routes.js';

interface OembedDeps {
  readonly playables: Pick<PlayableFinder, 'find'>;
  readonly access: Pick<AccessCheck, 'check'>;
  /** The origin of pages, as the viewer of this request sees it. */
  readonly originOf: (request: FastifyRequest) => string;
  /** The base of image URLs, if it is another one. */
  readonly imageUrl: string | undefined;
}

type Request = FastifyRequest<{ Querystring: Query }>;

const DEFAULT_WIDTH = 640;
const DEFAULT_HEIGHT = 640;
const PAGE_PATH = /^\/([^/]+?)(?:\.m3u8)?\/?$/;

/** What the frame may do without asking its viewer. */
const ALLOW = 'autoplay; encrypted-media; fullscreen; picture-in-picture';

/** Tells consumers of oEmbed 1.0 how to embed the page of a playback ID. */
export class Oembed {
  readonly #deps: OembedDeps;

  constructor(deps: OembedDeps) {
    this.#deps = deps;
  }

  async send(request: Request, reply: FastifyReply): Promise<FastifyReply> {
    const { playables, originOf, imageUrl, access } = this.#deps;
    const format = lastOf(request.query.format) || 'json';
    if (format !== 'json' && format !== 'xml') return reject(reply, 501, 'The format is json or xml.');
    const limits = ['maxwidth', 'maxheight'].map((name) => lastOf(request.query[name]) || undefined);
    if (limits.some((limit) => limit !== undefined && !/^0*[1-9]\d{0,5}$/.test(limit)))
      return reject(reply, 400, 'maxwidth and maxheight are whole numbers of pixels.');
    const origin = originOf(request);
    const page = findPage(lastOf(request.query.url), origin);
    const playable = page && (await playables.find(page.playbackId));
    if (!page || !playable || playable.status === 'errored')
      return reject(reply, 404, 'There is no embedding for this URL.');
    const query = parseQuery(page.search.slice(1)) as Query;
    if (playable.policy !== 'public') reply.header('cache-control', 'private, no-cache');
    if (!(await this.#isAllowed(playable, request, query))) return reject(reply, 401, 'This video is private.');

    const [maxWidth, maxHeight] = limits.map((limit) => (limit === undefined ? undefined : Number(limit)));
    const size = embedSize(videoSize(playable), maxWidth, maxHeight);
    const title = playable.meta.title || DEFAULT_TITLE;
    const base = imageUrl ?? origin;
    const thumbnail = await findThumbnail(access, playable, accessRequest(request), pageTokens(query).thumbnail, base);
    const source = escapeHtml(`${origin}/${page.playbackId}${page.search}`);
    const values: Record<string, string | number> = {
      version: '1.0',
      type: 'video',
      provider_name: 'Kinora',
      provider_url: `${origin}/`,
      title,
      ...(thumbnail && {
        thumbnail_url: thumbnail.url,
        thumbnail_width: thumbnail.width,
        thumbnail_height: thumbnail.height,
      }),
      html: `<iframe src="${source}" width="${size.width}" height="${size.height}" title="${escapeHtml(title)}" frameborder="0" allow="${ALLOW}" allowfullscreen></iframe>`,
      width: size.width,
      height: size.height,
    };
    if (format === 'json') return reply.type('application/json; charset=utf-8').send(JSON.stringify(values));
    const children = Object.entries(values).map(([name, value]) => textElement(name, {}, String(value)));
    return reply.type('text/xml; charset=utf-8').send(xmlDocument(element('oembed', {}, ...children)));
  }

  /** False for what needs a token that the URL does not have. */
  async #isAllowed(playable: Playable, request: Request, query: Query): Promise<boolean> {
    // Who asks is not who will watch: the page checks where it is embedded.
    if (playable.policy === 'public') return true;
    const token = pageTokens(query).playback;
    try {
      await this.#deps.access.check(playable, { ...accessRequest(request), query: token ? { token } : {} }, 'v');
      return true;
    } catch (error) {
      if (isKinoraError(error, 'forbidden') || isKinoraError(error, 'invalid_parameters')) return false;
      throw error;
    }
  }
}

const reject = (reply: FastifyReply, status: number, text: string): FastifyReply =>
  reply.code(status).type('text/plain; charset=utf-8').send(`${text}\n`);

/** The page that a URL names; its scheme does not matter, because a proxy may have changed it. */
const findPage = (text: string | undefined, origin: string) => {
  if (!text || !URL.canParse(text) || !URL.canParse(origin)) return undefined;
  const url = new URL(text);
  const [, playbackId] = PAGE_PATH.exec(url.pathname) ?? [];
  if (!/^https?:$/.test(url.protocol) || url.host !== new URL(origin).host) return undefined;
  return playbackId !== undefined && isId(playbackId) ? { playbackId, search: url.search } : undefined;
};

/** A video without limits is 640 pixels wide, or high if it is upright. */
const embedSize = (video: EmbedSize, maxWidth: number | undefined, maxHeight: number | undefined): EmbedSize => {
  const isLimited = maxWidth !== undefined || maxHeight !== undefined;
  const normal = fitSize(video, DEFAULT_WIDTH, DEFAULT_HEIGHT);
  if (!isLimited) return normal;
  return fitSize(normal, Math.min(maxWidth ?? normal.width, normal.width), maxHeight ?? normal.height);
};
