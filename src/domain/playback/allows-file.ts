import type { Size } from '../../media/plan/ladder.js';
import { parsePlaybackModifiers } from '../../media/playlist/playback-modifiers.js';
import type { Access } from './access-check.js';
import type { ReadyPlayable } from './write-playlist.js';

/** The values of `max_resolution` and `min_resolution`, in lines. */
const LABELS = [270, 360, 480, 540, 720, 1080, 1440, 2160];
/** Sizes are rounded to even numbers. */
const ROUNDING_LINES = 2;

/** The smallest label whose 16:9 frame, rotated for portrait, contains a frame of this size. */
const labelOf = ({ width, height }: Size): number => {
  const lines = Math.max(Math.min(width, height), (Math.max(width, height) * 9) / 16) - ROUNDING_LINES;
  return LABELS.find((label) => label >= lines) ?? Number.POSITIVE_INFINITY;
};

/**
 * Whether a viewer may download a file of the whole asset. Token claims that only allow a clip or
 * other resolutions forbid it. `size` is that of its frames; undefined for audio, which no
 * resolution claim forbids.
 */
export const allowsFile = (
  { plan, recordedSessions }: ReadyPlayable,
  { signed, modifiers }: Access,
  size: Size | undefined,
): boolean => {
  if (!signed) return true;
  const claims = parsePlaybackModifiers(modifiers, plan.durationSeconds, recordedSessions);
  if ('invalid' in claims) return false;
  const { assetStartSeconds = 0, assetEndSeconds = plan.durationSeconds, maxResolution, minResolution } = claims;
  if (assetStartSeconds > 0 || assetEndSeconds < plan.durationSeconds) return false;
  const label = size && labelOf(size);
  return label === undefined || (label <= (maxResolution ?? label) && label >= (minResolution ?? label));
};
