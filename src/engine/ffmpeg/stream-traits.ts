import { AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO, AVFMT_NOTIMESTAMPS } from 'node-av/constants';
import type { FormatContext, Stream } from 'node-av/lib';

/**
 * Whether the decoder itself leaves out frames that can't be decoded because the stream begins
 * after what they need.
 */
export const dropsUndecodable = ({ codecpar: { codecId } }: Stream): boolean =>
  codecId === AV_CODEC_ID_MPEG1VIDEO || codecId === AV_CODEC_ID_MPEG2VIDEO;

/** Elementary streams: FFmpeg makes up their times. */
export const hasNoTimes = (format: FormatContext): boolean => ((format.iformat?.flags ?? 0) & AVFMT_NOTIMESTAMPS) !== 0;
