import { createHash } from 'node:crypto';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { writeImagePlaylist } from '../../domain/playback/write-image-playlist.js';
import type { LivePlayable } from '../../domain/playback/write-live-playlist.js';
import { IMAGES_RENDITION, renditionChild } from '../../domain/playback/write-playlist.js';
import type { Audience } from '../../domain/signing/verify-token.js';
import { invalidParameters, KinoraError } from '../../lib/errors.js';
import { lastOf } from '../../lib/last-of.js';
import {
  parseAnimatedParameters,
  parseStoryboardFormat,
  parseStoryboardWindow,
  parseThumbnailParameters,
} from '../../media/image/parameters.js';
import { planStoryboard, writeStoryboardJson, writeStoryboardVtt } from '../../media/image/storyboard.js';
import { GENERATION } from '../../media/plan/generation.js';
import type { VideoPlan } from '../../media/plan/plan.js';
import { type PlannedImage, planAnimated, planSpriteSheet, planThumbnail } from '../../packager/image-jobs.js';
import type { ImageProducer } from '../../packager/image-producer.js';
import {
  allowKeepingPlaylist,
  cacheFor,
  immutableFor,
  isLive,
  type OpenedPlayback,
  type PlaybackOpener,
  requireReady,
} from '../stream/playback-opener.js';
import { sendFile } from '../stream/send-file.js';
import { sendText } from '../stream/send-text.js';
import { abortWhenLeft, acceptViewers, type Query, type ViewerRoute } from '../stream/viewer-routes.js';
import { storyboardUrl } from './storyboard-url.js';

export interface ImageDeps {
  readonly opener: PlaybackOpener;
  readonly images: Pick<ImageProducer, 'image'>;
  /** The base of the URLs in storyboards; without it they are relative. */
  readonly imageUrl?: string;
}

const THUMBNAILS = { jpg: 'jpg', jpeg: 'jpg', png: 'png', webp: 'webp' } as const;
type ThumbnailFormat = (typeof THUMBNAILS)[keyof typeof THUMBNAILS];
const TYPES = { jpg: 'image/jpeg', png: 'image/png', webp: 'image/webp', gif: 'image/gif' } as const;
const STORYBOARD_TEXTS = {
  vtt: { type: 'text/vtt; charset=utf-8', write: writeStoryboardVtt },
  json: { type: 'application/json', write: writeStoryboardJson },
};
const DAY_SECONDS = 86_400;
/** The default thumbnail time of an asset can change. */
const DEFAULT_TIME_SECONDS = 60;
/** With what the server keeps, the newest frame of a broadcast stays younger than ten seconds. */
const NEWEST_SECONDS = 2;

interface Params {
  readonly playbackId: string;
}
type Request<P extends Params = Params> = FastifyRequest<{ Params: P; Querystring: Query }>;

/** An opened playback ID with video. */
interface Opened extends OpenedPlayback {
  readonly video: VideoPlan;
}

/** Thumbnails, animated previews and storyboards. */
export const imageRoutes = ({ opener, images, imageUrl }: ImageDeps): FastifyPluginAsync => {
  return async (app) => {
    const route = acceptViewers(app);
    thumbnailRoutes(route, opener, images);
    animatedRoutes(route, opener, images);
    storyboardRoutes(route, opener, images, imageUrl);
    playlistImageRoutes(route, opener, images);
  };
};

const thumbnailRoutes = (route: ViewerRoute, opener: PlaybackOpener, images: ImageDeps['images']): void => {
  for (const [extension, format] of Object.entries(THUMBNAILS)) {
    route<Params>(`/:playbackId/thumbnail.${extension}`, async (request, reply) => {
      const playback = await opener.openAny(request, reply, request.params.playbackId, 't');
      if (isLive(playback)) return sendLiveStill(request, reply, playback, format);
      const opened = withVideo(playback);
      const { plan, thumbnailTime } = opened.playable;
      const parameters = parseThumbnailParameters(opened.access.modifiers);
      const image = planThumbnail(opened.video, parameters, thumbnailTime ?? plan.durationSeconds / 2, format);
      const maxAgeSeconds = parameters.timeSeconds === undefined ? DEFAULT_TIME_SECONDS : DAY_SECONDS;
      return sendImage(request, reply, images, opened, image, cacheFor(opened, maxAgeSeconds));
    });
  }
};

/** A frame of what is on air; without a time, the newest one. */
const sendLiveStill = async (
  request: FastifyRequest,
  reply: FastifyReply,
  opened: OpenedPlayback<LivePlayable>,
  format: ThumbnailFormat,
): Promise<FastifyReply> => {
  const { playable, access } = opened;
  const parameters = parseThumbnailParameters(access.modifiers, true);
  // A live stream has no time of its own that would name a frame.
  if (playable.liveStreamId !== undefined && parameters.timeSeconds !== undefined)
    throw invalidParameters('Invalid parameter');
  const { stills } = playable.live;
  if (!stills) throw new KinoraError('not_found');
  const { bytes, isFinal } = await stills.get(parameters, format);
  reply.header('cache-control', cacheFor(opened, isFinal ? DEFAULT_TIME_SECONDS : NEWEST_SECONDS));
  const etag = `"${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}"`;
  const acquire = async () => ({ bytes, release: () => undefined });
  return sendFile(request, reply, { etag, sizeBytes: bytes.length, acquire }, TYPES[format]);
};

const animatedRoutes = (route: ViewerRoute, opener: PlaybackOpener, images: ImageDeps['images']): void => {
  for (const format of ['gif', 'webp'] as const) {
    route<Params>(`/:playbackId/animated.${format}`, async (request, reply) => {
      const opened = await openVideo(opener, request, reply, 'g');
      const parameters = parseAnimatedParameters(opened.access.modifiers, opened.playable.plan.durationSeconds);
      const image = planAnimated(opened.video, parameters, format);
      return sendImage(request, reply, images, opened, image, cacheFor(opened, DAY_SECONDS));
    });
  }
};

const storyboardRoutes = (
  route: ViewerRoute,
  opener: PlaybackOpener,
  images: ImageDeps['images'],
  imageUrl: string | undefined,
): void => {
  const openStoryboard = async (request: Request, reply: FastifyReply) => {
    // Its frames are spread over the whole source.
    const opened = requireReady(await openVideo(opener, request, reply, 's'));
    const window = parseStoryboardWindow(opened.access.modifiers, opened.playable.plan.durationSeconds);
    return { opened, storyboard: planStoryboard(opened.video, window) };
  };

  for (const format of ['jpg', 'png', 'webp'] as const) {
    route<Params>(`/:playbackId/storyboard.${format}`, async (request, reply) => {
      const { opened, storyboard } = await openStoryboard(request, reply);
      const image = planSpriteSheet(opened.video, storyboard, format);
      return sendImage(request, reply, images, opened, image, cacheFor(opened, DAY_SECONDS));
    });
  }

  for (const [extension, { type, write }] of Object.entries(STORYBOARD_TEXTS)) {
    route<Params>(`/:playbackId/storyboard.${extension}`, async (request, reply) => {
      const { opened, storyboard } = await openStoryboard(request, reply);
      const { signed, modifiers } = opened.access;
      // Players add it next to a token, in which case the rest of the query is ignored.
      const format = parseStoryboardFormat(lastOf(request.query.format) ?? modifiers.format);
      const query = signed ? ['token'] : ['asset_start_time', 'asset_end_time'];
      const url = storyboardUrl(request, imageUrl, format, query);
      reply.header('cache-control', cacheFor(opened, DAY_SECONDS));
      return sendText(request, reply, type, write(storyboard, url));
    });
  }
};

/** URLs in playlists, for players that show previews from there. */
const playlistImageRoutes = (route: ViewerRoute, opener: PlaybackOpener, images: ImageDeps['images']): void => {
  type PlaylistParams = Params & { readonly plan: string };
  const openImages = async (request: Request<PlaylistParams>, reply: FastifyReply) => {
    const { playbackId, plan: version } = request.params;
    const clip = lastOf(request.query.segments);
    const child = renditionChild(version, IMAGES_RENDITION, clip);
    const opened = requireReady(withVideo(await opener.openChild(request, reply, playbackId, child)));
    if (version !== String(GENERATION)) throw new KinoraError('not_found');
    return { opened, ...writeImagePlaylist(opened.video, opened.access, clip) };
  };
  route<PlaylistParams>(`/:playbackId/:plan/${IMAGES_RENDITION}/playlist.m3u8`, async (request, reply) => {
    const { opened, playlist } = await openImages(request, reply);
    allowKeepingPlaylist(reply, opened);
    return sendText(request, reply, 'application/vnd.apple.mpegurl', playlist);
  });
  route<PlaylistParams>(`/:playbackId/:plan/${IMAGES_RENDITION}/storyboard.jpg`, async (request, reply) => {
    const { opened, storyboard } = await openImages(request, reply);
    const image = planSpriteSheet(opened.video, storyboard, 'jpg');
    return sendImage(request, reply, images, opened, image, immutableFor(opened));
  });
};

const openVideo = async (
  opener: PlaybackOpener,
  request: Request,
  reply: FastifyReply,
  audience: Audience,
): Promise<Opened> => withVideo(await opener.open(request, reply, request.params.playbackId, audience));

const withVideo = (opened: OpenedPlayback): Opened => {
  const { video } = opened.playable.plan;
  if (!video) throw new KinoraError('not_found');
  return { ...opened, video };
};

const sendImage = async (
  request: FastifyRequest,
  reply: FastifyReply,
  images: ImageDeps['images'],
  { playable }: OpenedPlayback,
  image: PlannedImage,
  cacheControl: string,
): Promise<FastifyReply> => {
  const left = abortWhenLeft(reply);
  const { assetId: id, plan } = playable;
  const cached = await images.image({ id, plan }, image, { signal: left }).catch((error: unknown) => {
    if (left.aborted) return undefined;
    throw error;
  });
  // The client has disconnected.
  if (!cached) return reply.hijack();
  reply.header('cache-control', cacheControl);
  return sendFile(request, reply, cached, TYPES[image.job.format]);
};
