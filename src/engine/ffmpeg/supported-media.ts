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
 * FFmpeg demuxers that are refused. All other formats that FFmpeg recognizes by content are opened:
 * the sandbox protects the server from hostile files, and this list only excludes what is not a
 * single file of video or audio. (Still images have separate demuxers, named `…_pipe`, which are
 * refused as well; animated GIF, PNG and WebP count as video.)
 */
export const REFUSED_FORMATS: ReadonlySet<string> = new Set([
  // These refer to other files or addresses, which FFmpeg would open.
  ...['concat', 'dash', 'hls', 'imf', 'mlv', 'rtp', 'rtsp', 'sap', 'sdp', 'vobsub', 'webm_dash_manifest'],
  // Filter graphs and scripts are programs without a time limit.
  ...['lavfi', 'sbg'],
  // Still images, single or as numbered files.
  ...['alias_pix', 'brender_pix', 'fits', 'ico', 'image2', 'image2pipe'],
  // Text, which FFmpeg would render.
  ...['adf', 'bin', 'idf', 'tty', 'xbin'],
]);

/**
 * FFmpeg decoders that are refused: the first three interpret bytes as pointers into this process's
 * memory, the others render text or run a script.
 */
export const REFUSED_DECODERS: ReadonlySet<string> = new Set([
  ...['anull', 'vnull', 'wrapped_avframe'],
  ...['ansi', 'bintext', 'idf', 'wavesynth', 'xbin'],
]);

/** Tied to hardware, or experimental. */
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

/** FFmpeg's name of the codec, or its four-character code in the file. */
export const codecNameOf = ({ codecpar }: Pick<Stream, 'codecpar'>): string => {
  const name = avGetCodecName(codecpar.codecId);
  if (name !== null && name !== 'none') return name;
  const tag = codecpar.codecTagString;
  return tag !== null && /^\w{4}$/.test(tag) ? tag : 'unknown';
};

/** The decoder for the stream; undefined when this build has none or refuses it. */
export const findDecoder = ({ codecpar }: Pick<Stream, 'codecpar'>): Codec | undefined => {
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
