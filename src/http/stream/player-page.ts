import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ContentKeys, keysOf } from '../../domain/drm/content-keys.js';
import { keySystemsOf } from '../../domain/drm/license.js';
import type { AccessCheck } from '../../domain/playback/access-check.js';
import { isOnAir, type Playable, type PlayableFinder } from '../../domain/playback/playable-finder.js';
import { isKinoraError } from '../../lib/errors.js';
import { escapeHtml } from '../../lib/escape-html.js';
import { lastOf } from '../../lib/last-of.js';
import { cardTags } from './card-tags.js';
import { DEFAULT_TITLE, findThumbnail, videoSize } from './embed.js';
import { ownPoster, pageTokens, playlistQuery, withQuery } from './page-query.js';
import { playbackError } from './playback-error.js';
import { accessRequest, type PlaybackOpener } from './playback-opener.js';
import type { Query } from './viewer-routes.js';

/**
 * True for the `Accept` header of a browser that opens a URL; players and tools accept anything or
 * a playlist.
 */
export const acceptsHtml = (accept: string | undefined): boolean =>
  accept?.split(',').some((part) => /^\s*text\/html\s*(;|$)/i.test(part) && !/;\s*q=0(\.0*)?\s*(;|$)/i.test(part)) ??
  false;

/** See `data-live` in the page. */
const liveStateOf = (playable: Playable): '' | 'live' | 'dvr' | 'ended' => {
  if (!isOnAir(playable)) return '';
  const { live, liveStreamId } = playable;
  const hasEnded = live.trackNames.some((name) => live.track(name)?.ended);
  if (liveStreamId !== undefined) return hasEnded ? 'ended' : 'live';
  return hasEnded ? '' : 'dvr';
};

/**
 * Everything comes from this server; images may come from the base of image URLs, and reports of
 * views go to the host for them.
 */
const policy = ({ imageUrl, dataHost }: Pick<PageDeps, 'imageUrl' | 'dataHost'>): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `connect-src 'self'${dataHost ? ` ${dataHost}` : ''}`,
    `img-src 'self' data:${imageUrl ? ` ${new URL(imageUrl).origin}` : ''}`,
    // hls.js creates the elements of text tracks with an empty file as their URL.
    "media-src 'self' blob: data:",
    "worker-src 'self' blob:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');

/** The browser loads the playlist while it still reads the script. */
const preloadTag = (source: string): string =>
  `<link rel="preload" as="fetch" crossorigin href="${escapeHtml(source)}">\n    `;

interface PageState {
  /** The status of the playlist. */
  readonly status: number;
  /** The status is final. */
  readonly errored?: boolean;
  /** Why the status is 403 or 412; the playlist's response says the same. */
  readonly reason?: string | undefined;
  /** What plays; undefined when the page says why nothing does. */
  readonly playable?: Playable;
  /** Key systems with a license URL for the playback ID; undefined without DRM. */
  readonly keySystems?: readonly string[] | undefined;
}

interface PageDeps {
  readonly opener: PlaybackOpener;
  readonly playables: Pick<PlayableFinder, 'find'>;
  readonly access: Pick<AccessCheck, 'check'>;
  readonly contentKeys: Pick<ContentKeys, 'get'>;
  readonly template: string;
  readonly originOf: (request: FastifyRequest) => string;
  readonly imageUrl: string | undefined;
  /** The page reports how its video plays. */
  readonly isTracking: boolean;
  /** The host that receives reports of views, if it is another one. */
  readonly dataHost: string | undefined;
}

type Request = FastifyRequest<{ Querystring: Query }>;

/** The page that plays a playback ID, or says why it can't. */
export class PlayerPage {
  readonly #deps: PageDeps;

  constructor(deps: PageDeps) {
    this.#deps = deps;
  }

  async send(request: Request, reply: FastifyReply, playbackId: string): Promise<FastifyReply> {
    const { template, isTracking, dataHost = '' } = this.#deps;
    const tokens = pageTokens(request.query);
    request.query.token = tokens.playback;
    const { status, errored, reason = '', playable, keySystems } = await this.#stateOf(request, reply, playbackId);
    const source = `/${encodeURIComponent(playbackId)}.m3u8${playlistQuery(request.url, tokens.playback)}`;
    const values: Record<string, string> = {
      source,
      status: errored ? 'errored' : String(status),
      reason,
      live: playable ? liveStateOf(playable) : '',
      keySystems: keySystems?.join(' ') ?? '',
      licenseToken: (keySystems && tokens.license) ?? '',
      environment: (isTracking && playable?.environmentId) || '',
      playbackId: playable ? playbackId : '',
      dataHost,
      ...(playable
        ? await this.#extras(request, playable, source)
        : { title: DEFAULT_TITLE, poster: '', storyboard: '', chapters: '', head: '' }),
    };
    const html = template.replace(/\{\{\{head\}\}\}|\{\{(\w+)\}\}/g, (_, name?: string) =>
      name === undefined ? values.head! : escapeHtml(values[name]!),
    );
    return reply
      .code(status)
      .headers({
        'content-security-policy': policy(this.#deps),
        'referrer-policy': 'strict-origin-when-cross-origin',
        'x-content-type-options': 'nosniff',
      })
      .type('text/html; charset=utf-8')
      .send(html);
  }

  async #stateOf(request: Request, reply: FastifyReply, playbackId: string): Promise<PageState> {
    const { opener, playables, contentKeys } = this.#deps;
    let playable: Playable;
    try {
      ({ playable } = await opener.openAny(request, reply, playbackId, 'v'));
    } catch (error) {
      const { status, body } = playbackError(error);
      // For the log, and for a header that says when to retry.
      if (status >= 500) throw error;
      const isNotReady = isKinoraError(error, 'asset_not_ready');
      const errored = isNotReady && (await playables.find(playbackId))?.status === 'errored';
      return { status, errored, reason: [403, 412].includes(status) ? body.message : undefined };
    }
    const keys = await keysOf(contentKeys, playable);
    return { status: 200, playable, keySystems: keys && keySystemsOf(keys) };
  }

  /**
   * What the page needs beside the playlist; each of them is empty if the video does not have it.
   */
  async #extras(request: Request, playable: Playable, source: string) {
    const { access, originOf, imageUrl } = this.#deps;
    const { query } = request;
    const tokens = pageTokens(query);
    const origin = originOf(request);
    const isPublic = playable.policy === 'public';
    const path = `/${playable.playbackId}`;
    const title = playable.meta.title || DEFAULT_TITLE;
    const base = imageUrl ?? origin;
    const thumbnail = await findThumbnail(access, playable, accessRequest(request), tokens.thumbnail, base);
    const hasStoryboard = playable.plan?.video && !playable.early && (isPublic || tokens.storyboard);
    const clip = {
      asset_start_time: lastOf(query.asset_start_time),
      asset_end_time: lastOf(query.asset_end_time),
    };
    const size = videoSize(playable);
    // With its time in the URL, a poster that is replaced is not taken from the browser's cache.
    const time = playable.thumbnailTime === undefined ? {} : { time: String(playable.thumbnailTime) };
    const poster = thumbnail && withQuery(`${path}/thumbnail.webp`, isPublic ? time : { token: tokens.thumbnail });
    return {
      title,
      poster: ownPoster(lastOf(query.poster), origin) ?? poster ?? '',
      storyboard: hasStoryboard
        ? withQuery(`${path}/storyboard.vtt`, isPublic ? clip : { token: tokens.storyboard })
        : '',
      chapters:
        playable.chapters.length > 0 ? `${path}/metadata.json${playlistQuery(request.url, tokens.playback)}` : '',
      head: preloadTag(source) + cardTags({ title, origin, url: origin + request.url, size, thumbnail }),
    };
  }
}
