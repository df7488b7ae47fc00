import {
  AV_CODEC_CAP_EXPERIMENTAL,
  AV_CODEC_CAP_HARDWARE,
  AV_CODEC_CAP_HYBRID,
  AVMEDIA_TYPE_AUDIO,
  AVMEDIA_TYPE_VIDEO,
} from 'node-av/constants';
import { avGetCodecName, Codec, InputFormat, IOContext, type Stream } from 'node-av/lib';
import { check } from './av.js';

/**
 * FFmpeg demuxers that are refused. Every other format that FFmpeg recognizes by its content is opened: the sandbox protects the
 * server from hostile files, this list only keeps out what is not the video or audio of one file. (Still images have demuxers
 * of their own, named `…_pipe`, which are refused as well; animated GIF, PNG and WebP are videos.)
 */
export const REFUSED_FORMATS: ReadonlySet<string> = new Set([
  // They name further files or addresses, and FFmpeg would open those.
  ...['concat', 'dash', 'hls', 'imf', 'mlv', 'rtp', 'rtsp', 'sap', 'sdp', 'vobsub', 'webm_dash_manifest'],
  // Filter graphs and scripts: programs that run for as long as they like.
  ...['lavfi', 'sbg'],
  // Still images, alone or as numbered files.
  ...['alias_pix', 'brender_pix', 'fits', 'ico', 'image2', 'image2pipe'],
  // Text, which FFmpeg would paint.
  ...['adf', 'bin', 'idf', 'tty', 'xbin'],
]);

/** FFmpeg decoders that are refused: the first three take bytes for structures of this process's memory, the others paint text or run a script. */
export const REFUSED_DECODERS: ReadonlySet<string> = new Set([
  ...['anull', 'vnull', 'wrapped_avframe'],
  ...['ansi', 'bintext', 'idf', 'wavesynth', 'xbin'],
]);

/** Bound to devices, or not ready for use. */
const isUnusable = ({ capabilities }: Codec): boolean =>
  (capabilities & (AV_CODEC_CAP_HARDWARE | AV_CODEC_CAP_HYBRID | AV_CODEC_CAP_EXPERIMENTAL)) !== 0;

const decoderNames = new Set(
  Codec.getCodecList()
    .filter((codec) => codec.isDecoder() && [AVMEDIA_TYPE_VIDEO, AVMEDIA_TYPE_AUDIO].includes(codec.type as never))
    .filter((codec) => !isUnusable(codec) && !REFUSED_DECODERS.has(codec.name ?? ''))
    .map(({ name }) => name),
);

/** Value of FFmpeg's option `codec_whitelist`. */
export const allowedDecoders = [...decoderNames].join(',');

/** FFmpeg's name of the codec, else the four characters that the file names it by. */
export const codecNameOf = ({ codecpar }: Stream): string => {
  const name = avGetCodecName(codecpar.codecId);
  if (name !== null && name !== 'none') return name;
  const tag = codecpar.codecTagString;
  return tag !== null && /^\w{4}$/.test(tag) ? tag : 'unknown';
};

/** The decoder of the stream, unless this build has none or it is refused. */
export const findDecoder = ({ codecpar }: Stream): Codec | undefined => {
  const codec = Codec.findDecoder(codecpar.codecId);
  return codec !== null && decoderNames.has(codec.name) ? codec : undefined;
};

/**
 * Recognizes the format of a file by its content alone; undefined when FFmpeg doesn't know it.
 * @throws KinoraError `media_failed` when the file can't be read
 */
export const recognizeFormat = (path: string): InputFormat | undefined => {
  const file = new IOContext();
  check(file.open2Sync(`file:${path}`), 'open');
  try {
    return InputFormat.probeBufferSync(file) ?? undefined;
  } finally {
    file.closepSync();
  }
};

export const isRefusedFormat = (name: string): boolean =>
  name.split(',').some((alias) => REFUSED_FORMATS.has(alias) || alias.endsWith('_pipe'));
