import {
  AV_FRAME_DATA_A53_CC,
  AV_FRAME_FLAG_INTERLACED,
  AV_PICTURE_TYPE_P,
  AV_TIME_BASE,
  AVSEEK_FLAG_BACKWARD,
  AVSEEK_FLAG_BYTE,
} from 'node-av/constants';
import type { FormatContext, Frame, Packet, Stream } from 'node-av/lib';
import { isKinoraError } from '../../lib/errors.js';
import { hasSequenceHeader } from '../../media/codecs/av1.js';
import { isIdrPicture } from '../../media/codecs/avc.js';
import { isIrapFrame } from '../../media/codecs/hevc.js';
import { MAX_GOP_SECONDS } from '../../media/plan/mezzanine-decision.js';
import { isMpegStreamFormat } from '../../media/source/frames.js';
import { KEY_FRAME_POSITIONS } from '../../media/source/key-frame-ranges.js';
import type { VideoFacts } from '../../media/source/source-facts.js';
import { NO_PTS, newFrame, newPacket } from '../ffmpeg/av.js';
import { openDecoder, openSource, readPacket } from '../ffmpeg/open-source.js';
import { readAll } from '../ffmpeg/staged-ranges.js';
import { dropsUndecodable } from '../ffmpeg/stream-traits.js';
import { isIntra } from '../video/reader.js';

/**
 * The number of frames decoded to find out what the stream really contains, and the number of
 * packets read for them.
 */
const SAMPLE_FRAMES = 12;
const SAMPLE_PACKETS = 2_000;

export interface FrameSample {
  readonly first?: ReturnType<typeof describeFrame>;
  /** The number of decoded frames, at most a dozen. */
  readonly count: number;
  readonly interlaced: boolean;
  readonly closedCaptions: boolean;
  /** See `VideoFacts`. */
  readonly unmarkedStart: boolean;
  readonly closedStart: boolean;
  /** See `VideoFacts`. */
  readonly decodeTimesOnly: boolean;
}

const describeFrame = (frame: Frame) => ({
  width: frame.width,
  height: frame.height,
  format: frame.format as number,
  aspect: { num: frame.sampleAspectRatio.num, den: frame.sampleAspectRatio.den },
  primaries: frame.colorPrimaries as number,
  transfer: frame.colorTrc as number,
  matrix: frame.colorSpace as number,
  range: frame.colorRange as number,
});

/** How many of the first packets of a file belong to each stream. */
export const countPackets = (source: Parameters<typeof openSource>[0]): ReadonlyMap<number, number> => {
  const counts = new Map<number, number>();
  const format = openSource(source);
  try {
    using packet = newPacket();
    for (let read = 0; read < SAMPLE_PACKETS && readPacket(format, packet) >= 0; read++) {
      counts.set(packet.streamIndex, (counts.get(packet.streamIndex) ?? 0) + 1);
      packet.unref();
    }
    return counts;
  } finally {
    format.closeInputSync();
  }
};

/** Decodes the first frames: what streams declare about fields and colors is often wrong. */
export const sampleFrames = (format: FormatContext, stream: Stream): FrameSample => {
  using decoder = openDecoder(stream, 1);
  using packet = newPacket();
  using frame = newFrame();
  let first: FrameSample['first'];
  let count = 0;
  let interlaced = false;
  let closedCaptions = false;
  /** The time of the first packet, when that packet is not marked as a key frame. */
  let unmarkedPts: bigint | undefined;
  let unmarkedStart = false;
  let keyPts = NO_PTS;
  let closedStart = false;
  /** Matroska and NUT store presentation times alone, so decode times tell nothing. */
  let isAscending = true;
  let packetPts = NO_PTS;
  let goesBack = false;
  let latestPts = NO_PTS;
  const receive = (): void => {
    while (decoder.receiveFrameSync(frame) >= 0) {
      count += 1;
      first ??= describeFrame(frame);
      interlaced ||= (frame.flags & AV_FRAME_FLAG_INTERLACED) !== 0;
      closedCaptions ||= frame.getSideData(AV_FRAME_DATA_A53_CC) !== null;
      unmarkedStart ||= frame.pts === unmarkedPts && isIntra(frame);
      closedStart ||= frame.pts !== NO_PTS && frame.pts < keyPts && dropsUndecodable(stream);
      if (frame.pts !== NO_PTS) {
        goesBack ||= frame.pts < latestPts;
        latestPts = frame.pts;
      }
      frame.unref();
    }
  };
  let packets = 0;
  for (let read = 0; read < SAMPLE_PACKETS && count < SAMPLE_FRAMES; read++) {
    if (readPacket(format, packet) < 0) break;
    if (packet.streamIndex === stream.index) {
      packets += 1;
      isAscending &&= packet.pts !== NO_PTS && packet.pts >= packetPts;
      packetPts = packet.pts;
      if (packets === 1 && !packet.isKeyframe && packet.pts !== NO_PTS) unmarkedPts = packet.pts;
      if (packets === 1 && packet.isKeyframe) keyPts = packet.pts;
      // A packet that fails here fails again in the sanity check, which judges it.
      decoder.sendPacketSync(packet);
    }
    packet.unref();
    receive();
  }
  decoder.sendPacketSync(null);
  receive();
  const decodeTimesOnly = isAscending && goesBack;
  return { ...(first && { first }), count, interlaced, closedCaptions, unmarkedStart, closedStart, decodeTimesOnly };
};

export interface InspectedFile {
  readonly sizeBytes: number;
  /** Only the start of the file is present. */
  readonly isPrefix: boolean;
}

/**
 * Inspects a key frame at a few positions. A stream without key frames there passes.
 * @param isAvc the stream is H.264 whose packets can be read without decoding
 */
export const inspectKeyFrames = (
  format: FormatContext,
  stream: Stream,
  isAvc: boolean,
  { sizeBytes, isPrefix }: InspectedFile,
): Pick<VideoFacts, 'idrKeyFrames' | 'falseKeyFrames' | 'unseekable'> => {
  const inspect = isAvc ? inspectPackets : inspectFrames;
  const inspectIfPresent = (): KeyPacket | undefined => {
    try {
      return inspect(format, stream);
    } catch (error) {
      if (isPrefix && isKinoraError(error, 'range_missing')) return undefined;
      throw error;
    }
  };
  const inspected = readAll(KEY_FRAME_POSITIONS, (share) =>
    jumpTo(format, share, sizeBytes) ? inspectIfPresent() : undefined,
  );
  const reached = inspected.filter((frame) => frame !== undefined);
  const allGood = reached.every(({ isKeyFrame }) => isKeyFrame);
  // Without an index, FFmpeg stays at its current position. MPEG streams need none.
  const spanSeconds =
    (Number(format.duration) / AV_TIME_BASE) * (KEY_FRAME_POSITIONS.at(-1)! - KEY_FRAME_POSITIONS[0]!);
  const stays =
    !isMpegStream(format) && spanSeconds > MAX_GOP_SECONDS && new Set(reached.map(({ time }) => time)).size === 1;
  return {
    ...(isAvc && { idrKeyFrames: allGood }),
    ...(!isAvc && !allGood && { falseKeyFrames: true }),
    ...(!isPrefix && (reached.length === 0 || stays) && { unseekable: true }),
  };
};

const isMpegStream = (format: FormatContext): boolean => isMpegStreamFormat(format.iformat?.name ?? '');

/** Seeking by time may never finish in MPEG streams, so these seek by byte position. */
const jumpTo = (format: FormatContext, share: number, sizeBytes: number): boolean => {
  const [whole, flags] = isMpegStream(format)
    ? [sizeBytes, AVSEEK_FLAG_BYTE]
    : [Number(format.duration), AVSEEK_FLAG_BACKWARD];
  return format.seekFrameSync(-1, BigInt(Math.floor(whole * share)), flags) >= 0;
};

/** The first packet that was marked as a key frame. */
interface KeyPacket {
  /** Its decode time, or else its presentation time. Undefined when there was none. */
  readonly time: bigint | undefined;
  /** Whether the packet really is a key frame, as far as this can be checked. */
  readonly isKeyFrame: boolean;
}

/** Passes the packets from the next key frame on to `inspect` until it returns a result. */
const readFromKeyFrame = (
  format: FormatContext,
  stream: Stream,
  inspect: (packet: Packet) => boolean | undefined,
): KeyPacket => {
  using packet = newPacket();
  let time: bigint | undefined;
  for (let read = 0; read < SAMPLE_PACKETS && readPacket(format, packet) >= 0; read++) {
    const isWanted = packet.streamIndex === stream.index && (time !== undefined || packet.isKeyframe);
    // Matroska has no decode times, and FFmpeg does not always find them out.
    if (isWanted) time ??= packet.dts === NO_PTS ? packet.pts : packet.dts;
    const isKeyFrame = isWanted ? inspect(packet) : undefined;
    packet.unref();
    if (isKeyFrame !== undefined) return { time, isKeyFrame };
  }
  return { time, isKeyFrame: true };
};

/**
 * Whether decoding can start with each key frame that is looked at of a stream whose packets can be
 * copied: HEVC with lengths, AV1. A stream with none there has nothing against it.
 */
export const canStartAtKeyFrames = (
  format: FormatContext,
  stream: Stream,
  codec: 'hevc' | 'av1',
  sizeBytes: number,
): boolean => {
  const begins = { hevc: isIrapFrame, av1: hasSequenceHeader }[codec];
  const reached = readAll(
    KEY_FRAME_POSITIONS,
    (share) =>
      !jumpTo(format, share, sizeBytes) ||
      readFromKeyFrame(format, stream, ({ data }) => data !== null && begins(data)).isKeyFrame,
  );
  return reached.every((isGood) => isGood);
};

const inspectPackets = (format: FormatContext, stream: Stream): KeyPacket => {
  const form = stream.codecpar.extradata?.[0] === 1 ? 'length-prefixed' : 'annexb';
  return readFromKeyFrame(format, stream, ({ data }) => data !== null && isIdrPicture(data, form));
};

/** The first frame that a decoder returns must not be predicted from another one. */
const inspectFrames = (format: FormatContext, stream: Stream): KeyPacket => {
  using decoder = openDecoder(stream, 1);
  using frame = newFrame();
  return readFromKeyFrame(format, stream, (packet) => {
    decoder.sendPacketSync(packet);
    return decoder.receiveFrameSync(frame) < 0 ? undefined : frame.pictType !== AV_PICTURE_TYPE_P;
  });
};
