import {
  AV_CODEC_ID_H264,
  AV_CODEC_ID_MPEG1VIDEO,
  AV_CODEC_ID_MPEG2VIDEO,
  AVFMT_NOTIMESTAMPS,
} from 'node-av/constants';
import type { FormatContext, Stream } from 'node-av/lib';

/**
 * Whether the decoder itself leaves out frames that can't be decoded because the stream begins
 * after what they need.
 */
export const dropsUndecodable = ({ codecpar: { codecId } }: Stream): boolean =>
  codecId === AV_CODEC_ID_MPEG1VIDEO || codecId === AV_CODEC_ID_MPEG2VIDEO;

/** Elementary streams: FFmpeg makes up their times. */
export const hasNoTimes = (format: FormatContext): boolean => ((format.iformat?.flags ?? 0) & AVFMT_NOTIMESTAMPS) !== 0;

/**
 * Whether the decoder can leave out just the frames that no other frame refers to, and packets tell
 * the times of their frames. In HEVC, frames of a higher temporal layer may refer to those that are
 * marked as not referred to. The other codecs have short groups of pictures, hardly any such
 * frames, or decoders that can't change it while they run.
 */
export const leavesOutExactly = (format: FormatContext, { codecpar: { codecId } }: Stream): boolean =>
  codecId === AV_CODEC_ID_H264 && format.iformat?.name !== 'avi' && !hasNoTimes(format);
