import { hasSequenceHeader } from '../codecs/av1.js';
import { isIdrPicture } from '../codecs/avc.js';
import { isCraFrame, isIrapFrame } from '../codecs/hevc.js';
import type { LiveVideoCodec } from './stream-facts.js';

/**
 * Whether players can't start at a key frame without fault, although the encoder marks it as one:
 * frames that follow may need frames before it. These are H.264 pictures with a recovery point
 * instead of IDR pictures, and HEVC CRA pictures with leading pictures.
 * @param hasLeading frames that follow it are shown before it
 */
export const isOpenKeyFrame = (codec: LiveVideoCodec, data: Uint8Array, hasLeading: boolean): boolean => {
  if (codec === 'avc') return !isIdrPicture(data, 'length-prefixed');
  if (codec === 'av1') return !hasSequenceHeader(data);
  return !isIrapFrame(data) || (hasLeading && isCraFrame(data));
};
