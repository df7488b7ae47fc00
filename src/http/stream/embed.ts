import type { AccessCheck, AccessRequest } from '../../domain/playback/access-check.js';
import { isOnAir, type Playable } from '../../domain/playback/playable-finder.js';
import { isKinoraError } from '../../lib/errors.js';
import { planStill, stillSize } from '../../media/image/geometry.js';
import { parseThumbnailParameters } from '../../media/image/parameters.js';
import { withQuery } from './page-query.js';

export interface EmbedSize {
  readonly width: number;
  readonly height: number;
}

export interface EmbedThumbnail extends EmbedSize {
  readonly url: string;
}

export const DEFAULT_TITLE = 'Video';

/** For audio, and for videos whose size is not known yet. */
const UNKNOWN_SIZE: EmbedSize = { width: 1280, height: 720 };
const THUMBNAIL_WIDTH = '640';

/** The size of the largest rendition, in pixels; undefined without video. */
const frameSizeOf = (playable: Playable): EmbedSize | undefined => {
  if (isOnAir(playable)) return playable.live.stills?.size;
  const top = playable.plan?.video?.renditions.at(-1);
  return top && { width: top.width, height: top.height };
};

/** The size of the player, in pixels. */
export const videoSize = (playable: Playable): EmbedSize => frameSizeOf(playable) ?? UNKNOWN_SIZE;

/** The largest size with the same proportions that fits both limits; at least one pixel. */
export const fitSize = ({ width, height }: EmbedSize, maxWidth: number, maxHeight: number): EmbedSize => {
  const scale = Math.min(maxWidth / width, maxHeight / height);
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
};

/**
 * The thumbnail that other sites show beside a link. Undefined for audio, and for a signed playback
 * ID without a valid token for thumbnails.
 * @param base of the thumbnail's URL
 */
export const findThumbnail = async (
  access: Pick<AccessCheck, 'check'>,
  playable: Playable,
  viewer: Omit<AccessRequest, 'query'>,
  token: string | undefined,
  base: string,
): Promise<EmbedThumbnail | undefined> => {
  const frameSize = frameSizeOf(playable);
  if (!frameSize) return undefined;
  const isPublic = playable.policy === 'public';
  const query = isPublic ? { width: THUMBNAIL_WIDTH } : { token };
  try {
    const { modifiers } = await access.check(playable, { ...viewer, query }, 't');
    const size = stillSize(planStill(frameSize, parseThumbnailParameters(modifiers, isOnAir(playable))));
    return { url: withQuery(`${base}/${playable.playbackId}/thumbnail.jpg`, query), ...size };
  } catch (error) {
    if (isKinoraError(error, 'forbidden') || isKinoraError(error, 'invalid_parameters')) return undefined;
    throw error;
  }
};
