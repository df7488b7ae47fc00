import {
  AV_CODEC_FLAG_LOW_DELAY,
  AV_CODEC_FLAG_UNALIGNED,
  AV_CODEC_ID_AV1,
  AVDISCARD_ALL,
  AVMEDIA_TYPE_VIDEO,
  FF_THREAD_FRAME,
  FF_THREAD_SLICE,
} from 'node-av/constants';
import { CodecContext, Dictionary, FormatContext, InputFormat, type Packet, type Stream } from 'node-av/lib';
import { missingRanges } from '../../lib/byte-ranges.js';
import { isMatroskaFormat } from '../../media/source/frames.js';
import type { MediaSource } from '../../pool/protocol.js';
import { check, failMedia, setOptions } from './av.js';
import { checkStaged } from './staged-ranges.js';
import { allowedDecoders, codecNameOf, findDecoder, isRefusedFormat, recognizeFormat } from './supported-media.js';

/**
 * The maximum bytes and time to read when detecting streams: enough for late streams in a transport
 * stream.
 */
const PROBE_BYTES = 10_000_000;
const ANALYZE_MICROSECONDS = 10_000_000;

/**
 * Larger than the largest frame of any level that players support (8192 x 4352 and similar 16:9
 * sizes), with room for odd shapes.
 */
const MAX_DECODED_PIXELS = 16_384 * 8_704;

export interface OpenOptions {
  /**
   * Checks the streams that the header declares before anything is decoded; throws to refuse the
   * source.
   */
  readonly inspectHeader?: (streams: readonly Stream[]) => void;
  /** Shows every frame of an MP4 or MOV. */
  readonly ignoreEditList?: boolean;
}

/** The first of several aliases for one demuxer ("mov,mp4,m4a…") matches all of them. */
const findAlias = (formatName: string): string => formatName.split(',')[0]!;
const findFormat = (formatName: string): InputFormat | null => InputFormat.findInputFormat(findAlias(formatName));

/**
 * Opens a source and reads its stream information. FFmpeg's demuxers must not be used in any other
 * way: only the format that the probe recognized is tried, and only plain files can be read. The
 * caller closes the source with `closeInputSync`.
 * @throws KinoraError `media_failed`
 */
export const openSource = (source: MediaSource, options: OpenOptions = {}): FormatContext => {
  const inputFormat = source.formatName === undefined ? recognizeFormat(source.path) : findFormat(source.formatName);
  const formatName = inputFormat?.name ?? '';
  if (!inputFormat || isRefusedFormat(formatName)) throw failMedia('open', `unknown or refused format ${formatName}`);
  const format = new FormatContext();
  const dictionary = Dictionary.fromObject({
    protocol_whitelist: 'file',
    format_whitelist: findAlias(formatName),
    codec_whitelist: allowedDecoders,
    probesize: PROBE_BYTES,
    analyzeduration: ANALYZE_MICROSECONDS,
    ...(options.ignoreEditList && { ignore_editlist: '1' }),
  });
  try {
    check(format.openInputSync(`file:${source.path}`, inputFormat, dictionary), 'open');
  } finally {
    dictionary.free();
  }
  try {
    options.inspectHeader?.(format.streams);
    check(format.findStreamInfoSync(null), 'read stream information');
    if (source.staged) {
      checkStaged(source, positionOf(format), 0);
      checkSkipped(source, format, 0);
      staged.set(format, source);
    }
  } catch (error) {
    format.closeInputSync();
    throw error;
  }
  return format;
};

/** The sources that are only partly stored. */
const staged = new WeakMap<FormatContext, MediaSource>();

/**
 * Checks what the demuxer of Matroska has read since it was at `from`. Where it finds zeros, it
 * searches for the next cluster, so a packet may be stored although those before it are missing.
 */
const checkSkipped = (source: MediaSource, format: FormatContext, from: number): void => {
  if (!isMatroska(format)) return;
  const [gap] = missingRanges([{ start: from, end: positionOf(format) }], source.staged?.ranges ?? []);
  if (gap) checkStaged(source, gap.start, 1);
};

const isMatroska = (format: FormatContext): boolean => isMatroskaFormat(format.iformat?.name ?? '');

const positionOf = (format: FormatContext): number => Number(format.pbBytes);

/**
 * Reads the next packet. Returns a negative code at the end and for unreadable packets. Packets
 * must not be read in any other way.
 * @throws KinoraError `range_missing` when the packet is outside the stored parts of the source
 */
export const readPacket = (format: FormatContext, packet: Packet): number => {
  const source = staged.get(format);
  if (!source) return format.readFrameSync(packet);
  const from = positionOf(format);
  const code = format.readFrameSync(packet);
  const start = code < 0 ? positionOf(format) : Number(packet.pos);
  try {
    checkSkipped(source, format, from);
    // In Matroska, a packet may be larger than its compressed block, and end after the file.
    checkStaged(source, start, code < 0 || isMatroska(format) ? 0 : packet.size);
  } catch (error) {
    packet.unref();
    throw error;
  }
  return code;
};

export const streamAt = (format: FormatContext, index: number): Stream => {
  const stream = format.streams[index];
  if (stream === undefined) throw failMedia('open', `stream ${index} does not exist`);
  return stream;
};

/** Makes the demuxer skip the packets of all other streams. */
export const readOnly = (format: FormatContext, streamIndexes: readonly number[]): void => {
  for (const stream of format.streams) if (!streamIndexes.includes(stream.index)) stream.discard = AVDISCARD_ALL;
};

/**
 * Opens a decoder for the stream. The caller frees it with `freeContext`.
 * @param isLive a frame is returned as soon as its order is known: threads that decode frames side
 * by side would hold it back
 * @throws KinoraError `media_failed`
 */
export const openDecoder = (
  stream: Pick<Stream, 'codecpar' | 'timeBase'>,
  threads: number,
  options: Readonly<Record<string, number>> = {},
  { isLive = false }: { readonly isLive?: boolean } = {},
): CodecContext => {
  const codec = findDecoder(stream);
  if (codec === undefined) throw failMedia(`decode ${codecNameOf(stream)}`, 'no decoder');
  const context = new CodecContext();
  context.allocContext3(codec);
  try {
    check(context.parametersToContext(stream.codecpar), 'decoder parameters');
    context.pktTimebase = stream.timeBase;
    context.threadCount = threads;
    context.threadType = isLive ? FF_THREAD_SLICE : ((FF_THREAD_FRAME | FF_THREAD_SLICE) as typeof FF_THREAD_FRAME);
    // Only for the decoder of AV1: that of H.264 would return frames in the order of decoding.
    if (isLive && stream.codecpar.codecId === AV_CODEC_ID_AV1) context.setFlags(AV_CODEC_FLAG_LOW_DELAY);
    if (stream.codecpar.codecType === AVMEDIA_TYPE_VIDEO) {
      // Otherwise the decoder crops the left side only where rows stay aligned, and shows the rest.
      context.setFlags(AV_CODEC_FLAG_UNALIGNED);
      setOptions(context, { max_pixels: MAX_DECODED_PIXELS, ...options });
    }
    check(context.open2Sync(codec, null), `open decoder ${codecNameOf(stream)}`);
  } catch (error) {
    context.freeContext();
    throw error;
  }
  return context;
};
