import {
  AVDISCARD_ALL,
  AVERROR_DECODER_NOT_FOUND,
  AVMEDIA_TYPE_VIDEO,
  FF_THREAD_FRAME,
  FF_THREAD_SLICE,
} from 'node-av/constants';
import { avGetCodecName, Codec, CodecContext, Dictionary, FormatContext, type Stream } from 'node-av/lib';
import type { MediaSource } from '../pool/protocol.js';
import { check, failMedia, setOptions } from './av.js';

/**
 * The only door through which a source is opened. Playlists, concat scripts and everything else that makes FFmpeg open
 * further files or addresses are no allowed formats, and only plain files can be read.
 */
const FORMATS = 'mov,matroska,mpegts,mpeg,avi,flv,ogg,wav,mp3,aac,flac,mxf,asf';

/** FFmpeg codec names that may be decoded. */
const CODECS: ReadonlySet<string> = new Set(
  [
    'h264 hevc vp8 vp9 av1 mpeg1video mpeg2video mpeg4 msmpeg4v2 msmpeg4v3 prores mjpeg dnxhd dvvideo theora',
    'wmv1 wmv2 wmv3 vc1 h263 flv1 ffv1 rawvideo v210',
    'aac aac_latm mp1 mp2 mp3 opus vorbis flac alac ac3 eac3 dts wmav1 wmav2 wmapro wmalossless truehd mlp',
    'pcm_u8 pcm_s8 pcm_s16le pcm_s16be pcm_u16le pcm_s24le pcm_s24be pcm_s32le pcm_s32be pcm_f32le pcm_f32be',
    'pcm_f64le pcm_f64be pcm_alaw pcm_mulaw pcm_bluray pcm_dvd adpcm_ms adpcm_ima_wav adpcm_ima_qt amrnb amrwb',
  ].flatMap((line) => line.split(' ')),
);

/** Decoder names where they differ from the codec's. */
const DECODERS = 'libdav1d,libvpx-vp9,libvpx,libopus,libvorbis,dca,mp3float,mp2float,mp1float,amrnb,amrwb,flv';

/** Bytes and time that may be read to learn about the streams: enough for late streams in a transport stream. */
const PROBE_BYTES = 10_000_000;
const ANALYZE_MICROSECONDS = 10_000_000;

/** Above the largest picture of any level that players know (8192 x 4352 and 16:9 relatives), with room for odd shapes. */
const MAX_DECODED_PIXELS = 16_384 * 8_704;

export interface OpenOptions {
  /** Refuse files with more streams. */
  readonly maxStreams?: number;
  /** Looks at the streams as the header declares them, before anything of them is decoded; throws to refuse. */
  readonly inspectHeader?: (streams: readonly Stream[]) => void;
}

/**
 * Opens a source and reads its stream information. The caller closes it with `closeInputSync`.
 * @throws KinoraError `media_failed`
 */
export const openSource = (source: MediaSource, options: OpenOptions = {}): FormatContext => {
  const format = new FormatContext();
  const dictionary = Dictionary.fromObject({
    protocol_whitelist: 'file',
    // Aliases of one demuxer ("mov,mp4,m4a…") are all matched by the first.
    format_whitelist: source.formatName?.split(',')[0] ?? FORMATS,
    codec_whitelist: `${[...CODECS].join(',')},${DECODERS}`,
    probesize: PROBE_BYTES,
    analyzeduration: ANALYZE_MICROSECONDS,
    ...(options.maxStreams !== undefined && { max_streams: options.maxStreams }),
  });
  try {
    check(format.openInputSync(`file:${source.path}`, null, dictionary), 'open');
  } finally {
    dictionary.free();
  }
  try {
    options.inspectHeader?.(format.streams);
    check(format.findStreamInfoSync(null), 'read stream information');
  } catch (error) {
    format.closeInputSync();
    throw error;
  }
  return format;
};

export const codecNameOf = (stream: Stream): string => avGetCodecName(stream.codecpar.codecId) ?? 'unknown';

/** True when the codec of the stream is allowed and this build can decode it. */
export const isDecodable = (stream: Stream): boolean =>
  CODECS.has(codecNameOf(stream)) && Codec.findDecoder(stream.codecpar.codecId) !== null;

export const streamAt = (format: FormatContext, index: number): Stream => {
  const stream = format.streams[index];
  if (stream === undefined) throw failMedia('open', `stream ${index} does not exist`);
  return stream;
};

/** Packets of every other stream are skipped by the demuxer. */
export const readOnly = (format: FormatContext, streamIndexes: readonly number[]): void => {
  for (const stream of format.streams) if (!streamIndexes.includes(stream.index)) stream.discard = AVDISCARD_ALL;
};

/**
 * Opens a decoder for the stream; the caller frees it with `freeContext`.
 * @throws KinoraError `media_failed`
 */
export const openDecoder = (stream: Stream, threads: number): CodecContext => {
  const codec = isDecodable(stream) ? Codec.findDecoder(stream.codecpar.codecId) : null;
  if (codec === null) check(AVERROR_DECODER_NOT_FOUND, `decode ${codecNameOf(stream)}`);
  const context = new CodecContext();
  context.allocContext3(codec);
  try {
    check(context.parametersToContext(stream.codecpar), 'decoder parameters');
    context.pktTimebase = stream.timeBase;
    context.threadCount = threads;
    context.threadType = (FF_THREAD_FRAME | FF_THREAD_SLICE) as typeof FF_THREAD_FRAME;
    if (stream.codecpar.codecType === AVMEDIA_TYPE_VIDEO) setOptions(context, { max_pixels: MAX_DECODED_PIXELS });
    check(context.open2Sync(codec, null), `open decoder ${codecNameOf(stream)}`);
  } catch (error) {
    context.freeContext();
    throw error;
  }
  return context;
};
