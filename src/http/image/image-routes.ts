import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { AccessCheck } from '../../domain/playback/check-access.js';
import type { PlayableFinder } from '../../domain/playback/find-playable.js';
import { writeImagePlaylist } from '../../domain/playback/write-image-playlist.js';
import { IMAGES_RENDITION, renditionChild } from '../../domain/playback/write-playlist.js';
import type { Audience } from '../../domain/signing/verify-token.js';
import { KinoraError } from '../../lib/errors.js';
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
  createOpenPlayback,
  immutableFor,
  type OpenedPlayback,
  requireReady,
} from '../stream/open-playback.js';
import { sendFile } from '../stream/send-file.js';
import { sendText } from '../stream/send-text.js';
import { abortWhenLeft, acceptViewers, type Query } from '../stream/viewer-routes.js';
import { storyboardUrl } from './storyboard-url.js';

export interface ImageDeps {
  readonly playables: PlayableFinder;
  readonly access: AccessCheck;
  readonly images: ImageProducer;
  /** The base of the URLs in storyboards; without it they are relative. */
  readonly imageUrl?: string;
  /** See `createOpenPlayback`. */
  readonly cacheTag?: string;
}

const THUMBNAILS = { jpg: 'jpg', jpeg: 'jpg', png: 'png', webp: 'webp' } as const;
const TYPES = { jpg: 'image/jpeg', png: 'image/png', webp: 'image/webp', gif: 'image/gif' } as const;
const DAY_SECONDS = 86_400;
/** The default thumbnail time of an asset can change. */
const DEFAULT_TIME_SECONDS = 60;

type Request = FastifyRequest<{ Params: { playbackId: string }; Querystring: Query }>;

/** An opened playback ID with video. */
interface Opened extends OpenedPlayback {
  readonly video: VideoPlan;
}

/** Thumbnails, animated previews and storyboards. */
export const imageRoutes = ({ playables, access, images, imageUrl, cacheTag }: ImageDeps): FastifyPluginAsync => {
  return async (app) => {
    const route = acceptViewers(app);
    const { open, openChild } = createOpenPlayback(playables, access, cacheTag);

    const withVideo = (opened: OpenedPlayback): Opened => {
      const { video } = opened.playable.plan;
      if (!video) throw new KinoraError('not_found');
      return { ...opened, video };
    };
    const openVideo = async (request: Request, reply: FastifyReply, audience: Audience): Promise<Opened> =>
      withVideo(await open(request, reply, request.params.playbackId, audience));

    const sendImage = async (
      request: Request,
      reply: FastifyReply,
      opened: Opened,
      image: PlannedImage,
      control: string = cacheFor(opened, DAY_SECONDS),
    ): Promise<FastifyReply> => {
      const left = abortWhenLeft(reply);
      const { assetId: id, plan } = opened.playable;
      const cached = await images.image({ id, plan }, image, { signal: left }).catch((error: unknown) => {
        if (left.aborted) return undefined;
        throw error;
      });
      // The client has disconnected.
      if (!cached) return reply.hijack();
      reply.header('cache-control', control);
      return sendFile(request, reply, cached, TYPES[image.job.format]);
    };

    for (const [extension, format] of Object.entries(THUMBNAILS)) {
      route<Request['params']>(`/:playbackId/thumbnail.${extension}`, async (request, reply) => {
        const opened = await openVideo(request, reply, 't');
        const { plan, thumbnailTime } = opened.playable;
        const parameters = parseThumbnailParameters(opened.access.modifiers);
        const image = planThumbnail(opened.video, parameters, thumbnailTime ?? plan.durationSeconds / 2, format);
        const maxAgeSeconds = parameters.timeSeconds === undefined ? DEFAULT_TIME_SECONDS : DAY_SECONDS;
        return sendImage(request, reply, opened, image, cacheFor(opened, maxAgeSeconds));
      });
    }

    for (const format of ['gif', 'webp'] as const) {
      route<Request['params']>(`/:playbackId/animated.${format}`, async (request, reply) => {
        const opened = await openVideo(request, reply, 'g');
        const parameters = parseAnimatedParameters(opened.access.modifiers, opened.playable.plan.durationSeconds);
        return sendImage(request, reply, opened, planAnimated(opened.video, parameters, format));
      });
    }

    const openStoryboard = async (request: Request, reply: FastifyReply) => {
      // Its frames are spread over the whole source.
      const opened = requireReady(await openVideo(request, reply, 's'));
      const window = parseStoryboardWindow(opened.access.modifiers, opened.playable.plan.durationSeconds);
      return { opened, storyboard: planStoryboard(opened.video, window) };
    };

    for (const format of ['jpg', 'png', 'webp'] as const) {
      route<Request['params']>(`/:playbackId/storyboard.${format}`, async (request, reply) => {
        const { opened, storyboard } = await openStoryboard(request, reply);
        return sendImage(request, reply, opened, planSpriteSheet(opened.video, storyboard, format));
      });
    }

    const texts = {
      vtt: { type: 'text/vtt; charset=utf-8', write: writeStoryboardVtt },
      json: { type: 'application/json', write: writeStoryboardJson },
    };
    for (const [extension, { type, write }] of Object.entries(texts)) {
      route<Request['params']>(`/:playbackId/storyboard.${extension}`, async (request, reply) => {
        const { opened, storyboard } = await openStoryboard(request, reply);
        const { signed, modifiers } = opened.access;
        // Players add it next to a token, in which case the rest of the query is ignored.
        const format = parseStoryboardFormat(lastOf(request.query.format) ?? modifiers.format);
        const url = storyboardUrl(
          request,
          imageUrl,
          format,
          signed ? ['token'] : ['asset_start_time', 'asset_end_time'],
        );
        reply.header('cache-control', cacheFor(opened, DAY_SECONDS));
        return sendText(request, reply, type, write(storyboard, url));
      });
    }

    // URLs in playlists, for players that show previews from there.
    type Params = Request['params'] & { plan: string };
    const openImages = async (request: FastifyRequest<{ Params: Params; Querystring: Query }>, reply: FastifyReply) => {
      const { playbackId, plan: version } = request.params;
      const clip = lastOf(request.query.segments);
      const child = renditionChild(version, IMAGES_RENDITION, clip);
      const opened = requireReady(withVideo(await openChild(request, reply, playbackId, child)));
      if (version !== String(GENERATION)) throw new KinoraError('not_found');
      return { opened, ...writeImagePlaylist(opened.video, opened.access, clip) };
    };
    route<Params>(`/:playbackId/:plan/${IMAGES_RENDITION}/playlist.m3u8`, async (request, reply) => {
      const { opened, playlist } = await openImages(request, reply);
      allowKeepingPlaylist(reply, opened);
      return sendText(request, reply, 'application/vnd.apple.mpegurl', playlist);
    });
    route<Params>(`/:playbackId/:plan/${IMAGES_RENDITION}/storyboard.jpg`, async (request, reply) => {
      const { opened, storyboard } = await openImages(request, reply);
      const image = planSpriteSheet(opened.video, storyboard, 'jpg');
      return sendImage(request, reply, opened, image, immutableFor(opened));
    });
  };
};
