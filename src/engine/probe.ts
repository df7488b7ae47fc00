import { statSync } from 'node:fs';
import {
  AV_DISPOSITION_ATTACHED_PIC,
  AV_DISPOSITION_DEFAULT,
  AV_DISPOSITION_STILL_IMAGE,
  AV_DISPOSITION_TIMED_THUMBNAILS,
  AV_FRAME_DATA_A53_CC,
  AV_FRAME_FLAG_INTERLACED,
  AV_PKT_DATA_DISPLAYMATRIX,
  AV_PKT_DATA_DOVI_CONF,
  AV_PROFILE_AAC_LOW,
  AVMEDIA_TYPE_AUDIO,
  AVMEDIA_TYPE_VIDEO,
  AVSEEK_FLAG_BACKWARD,
  AVSEEK_FLAG_BYTE,
} from 'node-av/constants';
import {
  avChannelLayoutDefault,
  avChannelLayoutDescribe,
  avGetPixFmtName,
  type FormatContext,
  type Frame,
  type Stream,
} from 'node-av/lib';
import { isKinoraError, KinoraError } from '../lib/errors.js';
import { audioSpecificConfig } from '../media/aac.js';
import { avccFromAnnexB, isIdrPicture } from '../media/avc.js';
import type { AudioFacts, Rational, SourceFacts, VideoFacts } from '../media/source-facts.js';
import type { ProbeJob } from '../pool/protocol.js';
import { NO_PTS, newFrame, newPacket } from './av.js';
import { MATRICES, PRIMARIES, RANGES, TRANSFERS } from './colour-names.js';
import { readEditLists } from './edit-lists.js';
import { codecNameOf, isDecodable, openDecoder, openSource } from './open-source.js';
import { cropOf } from './video-reader.js';

const invalidInput = (message: string, cause?: unknown): KinoraError =>
  new KinoraError('invalid_input', { messages: [message], cause });
const NOT_MEDIA = 'The input file is not a valid video file.';

/** Pictures that are decoded to see what the stream really holds, and packets that may be read for them. */
const SAMPLE_PICTURES = 12;
const SAMPLE_PACKETS = 2_000;
/** Shares of the file at which a key frame is looked at. */
const KEY_FRAME_PLACES = [0.25, 0.5, 0.75];

/**
 * Finds out what a source holds.
 * @throws KinoraError `invalid_input` with the text for the caller
 */
export const probe = async (job: ProbeJob): Promise<SourceFacts> => {
  const sizeBytes = statSync(job.source.path).size;
  if (sizeBytes === 0) throw invalidInput('The input file is empty.');
  const format = openForProbe(job);
  try {
    const formatName = format.iformat?.name ?? 'unknown';
    const durationSeconds = format.duration > 0n ? Number(format.duration) / 1e6 : 0;
    const simpleEdits = formatName.startsWith('mov') ? await readEditLists(job.source.path) : undefined;
    const isSimple = (stream: Stream): boolean => simpleEdits?.get(stream.id) ?? true;
    const media = format.streams.filter(
      (stream) => isMovingPicture(stream) || stream.codecpar.codecType === AVMEDIA_TYPE_AUDIO,
    );
    if (media.length === 0) throw invalidInput('The input file does not contain any video or audio.');
    const usable = media.filter(isDecodable);
    const video = chooseFirst(usable.filter(isMovingPicture));
    const sound = usable.filter(
      ({ codecpar }) => codecpar.codecType === AVMEDIA_TYPE_AUDIO && codecpar.sampleRate > 0 && codecpar.channels > 0,
    );
    const mainSound = chooseFirst(sound);
    if (video === undefined && mainSound === undefined) throw invalidInput(NOT_MEDIA);
    checkPixels(job, video ? [video] : []);
    return {
      formatName,
      sizeBytes,
      durationSeconds,
      ...(video && { video: describeVideo(format, video, isSimple(video)) }),
      audio: sound
        .toSorted((a, b) => Number(b === mainSound) - Number(a === mainSound))
        .map((stream) => describeAudio(stream, isSimple(stream))),
    };
  } finally {
    format.closeInputSync();
  }
};

const openForProbe = (job: ProbeJob): FormatContext => {
  try {
    const inspectHeader = (streams: readonly Stream[]): void => {
      if (streams.length > job.maxStreams) throw invalidInput(NOT_MEDIA);
      checkPixels(job, streams);
    };
    const format = openSource(job.source, { inspectHeader });
    if (format.nbStreams <= job.maxStreams) return format;
    format.closeInputSync();
    throw invalidInput(NOT_MEDIA);
  } catch (error) {
    throw isKinoraError(error, 'media_failed') ? invalidInput(NOT_MEDIA, error) : error;
  }
};

const checkPixels = (job: ProbeJob, streams: readonly Stream[]): void => {
  for (const { codecpar } of streams) {
    if (codecpar.codecType === AVMEDIA_TYPE_VIDEO && codecpar.width * codecpar.height > job.maxPixels) {
      throw invalidInput(NOT_MEDIA, new Error(`${codecpar.width}x${codecpar.height} pixels are too many`));
    }
  }
};

const NOT_MOVING = AV_DISPOSITION_ATTACHED_PIC | AV_DISPOSITION_STILL_IMAGE | AV_DISPOSITION_TIMED_THUMBNAILS;
const isMovingPicture = (stream: Stream): boolean =>
  stream.codecpar.codecType === AVMEDIA_TYPE_VIDEO && (stream.disposition & NOT_MOVING) === 0;

const isDefault = (stream: Stream): boolean => (stream.disposition & AV_DISPOSITION_DEFAULT) !== 0;
const chooseFirst = (streams: readonly Stream[]): Stream | undefined => streams.find(isDefault) ?? streams[0];

const secondsOf = (stream: Stream): number =>
  stream.duration === NO_PTS ? 0 : (Number(stream.duration) * stream.timeBase.num) / stream.timeBase.den;
const fraction = ({ num, den }: Rational, otherwise: Rational): Rational =>
  num > 0 && den > 0 ? { num, den } : otherwise;

const describeVideo = (format: FormatContext, stream: Stream, simpleEditList: boolean): VideoFacts => {
  const { codecpar } = stream;
  const pictures = samplePictures(format, stream);
  const crop = cropOf(stream);
  const first = pictures.first;
  const pixelFormat = avGetPixFmtName((first?.format ?? codecpar.format) as never) ?? 'unknown';
  // Packets whose picture the container crops would show too much when they are copied.
  const avcc = codecNameOf(stream) === 'h264' && !crop ? avccOf(codecpar.extradata) : undefined;
  const dolbyVision = codecpar.getCodedSideData(AV_PKT_DATA_DOVI_CONF);
  const colourName = (
    names: Readonly<Record<number, string>>,
    picture: number | undefined,
    container: number,
  ): string => names[picture ?? 2] ?? names[container] ?? 'unknown';
  const aspect = fraction(
    stream.sampleAspectRatio,
    fraction(first?.aspect ?? codecpar.sampleAspectRatio, { num: 1, den: 1 }),
  );
  return {
    streamIndex: stream.index,
    codec: codecNameOf(stream),
    profile: codecpar.profile,
    level: codecpar.level,
    width: (first?.width ?? codecpar.width) - (crop ? crop.left + crop.right : 0),
    height: (first?.height ?? codecpar.height) - (crop ? crop.top + crop.bottom : 0),
    sampleAspect: aspect,
    ...orientationOf(codecpar.getCodedSideData(AV_PKT_DATA_DISPLAYMATRIX)),
    pixelFormat,
    bitDepth: bitDepthOf(pixelFormat),
    timeBase: { num: stream.timeBase.num, den: stream.timeBase.den },
    frameRate: fraction(stream.avgFrameRate, fraction(stream.rFrameRate, { num: 0, den: 1 })),
    interlaced: pictures.interlaced,
    colour: {
      primaries: colourName(PRIMARIES, first?.primaries, codecpar.colorPrimaries),
      transfer: colourName(TRANSFERS, first?.transfer, codecpar.colorTrc),
      matrix: colourName(MATRICES, first?.matrix, codecpar.colorSpace),
      range: RANGES[first?.range ?? 0] ?? RANGES[codecpar.colorRange] ?? 'unknown',
    },
    ...(dolbyVision && dolbyVision.length > 2 && { dolbyVisionProfile: dolbyVision[2]! }),
    ...(avcc && { avcc: Buffer.from(avcc).toString('base64') }),
    ...(avcc && { idrKeyFrames: hasIdrKeyFrames(format, stream) }),
    bitRate: Number(codecpar.bitRate),
    closedCaptions: pictures.closedCaptions,
    durationSeconds: secondsOf(stream) || (format.duration > 0n ? Number(format.duration) / 1e6 : 0),
    simpleEditList,
  };
};

const avccOf = (extradata: Buffer | null): Uint8Array | undefined => {
  if (extradata === null || extradata.length === 0) return undefined;
  return extradata[0] === 1 ? extradata : avccFromAnnexB(extradata);
};

/** 8 where the name of the pixel format says nothing else. */
const bitDepthOf = (pixelFormat: string): number => {
  const found = /(?:p|p0|p2|p4|y2|gray|xyz|rgb|bgr|rgba|bgra)(9|10|12|14|16|36|48|64)(?:le|be)$/.exec(pixelFormat)?.[1];
  if (found === undefined) return 8;
  const bits = Number(found);
  return bits > 16 ? (bits === 36 ? 12 : 16) : bits;
};

/**
 * A display matrix (ISO/IEC 14496-12, 8.2.2) maps a point to (a x + c y, b x + d y); nine 32-bit numbers in host byte order,
 * the first four of interest are a, b, -, c, d. Turns that are no multiple of 90 degrees go to the nearest.
 */
export const orientationOf = (matrix: Buffer | null): { rotation: 0 | 90 | 180 | 270; flipHorizontal: boolean } => {
  if (matrix === null || matrix.length < 36) return { rotation: 0, flipHorizontal: false };
  const [a, b, c, d] = [0, 4, 12, 16].map((offset) => matrix.readInt32LE(offset)) as [number, number, number, number];
  const flipHorizontal = a * d - b * c < 0;
  // Mirroring the result turns the sign of x: what remains is a pure turn.
  const degrees = (Math.atan2(b, flipHorizontal ? -a : a) * 180) / Math.PI;
  const rotation = (((Math.round(degrees / 90) * 90) % 360) + 360) % 360;
  return { rotation: rotation as 0 | 90 | 180 | 270, flipHorizontal };
};

interface PictureSample {
  readonly first?: ReturnType<typeof describePicture>;
  readonly interlaced: boolean;
  readonly closedCaptions: boolean;
}

const describePicture = (frame: Frame) => ({
  width: frame.width,
  height: frame.height,
  format: frame.format as number,
  aspect: { num: frame.sampleAspectRatio.num, den: frame.sampleAspectRatio.den },
  primaries: frame.colorPrimaries as number,
  transfer: frame.colorTrc as number,
  matrix: frame.colorSpace as number,
  range: frame.colorRange as number,
});

/** Decodes the first pictures: what streams declare about fields and colours is often wrong. */
const samplePictures = (format: FormatContext, stream: Stream): PictureSample => {
  const decoder = openDecoder(stream, 1);
  const packet = newPacket();
  const frame = newFrame();
  let first: PictureSample['first'];
  let pictures = 0;
  let interlaced = false;
  let closedCaptions = false;
  const receive = (): void => {
    while (decoder.receiveFrameSync(frame) >= 0) {
      pictures += 1;
      first ??= describePicture(frame);
      interlaced ||= (frame.flags & AV_FRAME_FLAG_INTERLACED) !== 0;
      closedCaptions ||= frame.getSideData(AV_FRAME_DATA_A53_CC) !== null;
      frame.unref();
    }
  };
  try {
    for (let read = 0; read < SAMPLE_PACKETS && pictures < SAMPLE_PICTURES; read++) {
      if (format.readFrameSync(packet) < 0) break;
      // A packet that fails here fails again in the sanity check, which judges it.
      if (packet.streamIndex === stream.index) decoder.sendPacketSync(packet);
      packet.unref();
      receive();
    }
    decoder.sendPacketSync(null);
    receive();
  } finally {
    frame.free();
    packet.free();
    decoder.freeContext();
  }
  return { ...(first && { first }), interlaced, closedCaptions };
};

/** Looks at a key frame at a few places; a stream with none there has nothing against it. */
const hasIdrKeyFrames = (format: FormatContext, stream: Stream): boolean => {
  const form = stream.codecpar.extradata?.[0] === 1 ? 'length-prefixed' : 'annexb';
  const packet = newPacket();
  try {
    return KEY_FRAME_PLACES.every((share) => {
      if (!jumpTo(format, share)) return true;
      for (let read = 0; read < SAMPLE_PACKETS && format.readFrameSync(packet) >= 0; read++) {
        const isKey = packet.streamIndex === stream.index && packet.isKeyframe;
        const isIdr = isKey && packet.data !== null && isIdrPicture(packet.data, form);
        packet.unref();
        if (isKey) return isIdr;
      }
      return true;
    });
  } finally {
    packet.free();
  }
};

/** Seeking by time may never end in MPEG streams: there a byte position has to do. */
const jumpTo = (format: FormatContext, share: number): boolean => {
  const [streamIndex, target, flags] = /^mpeg/.test(format.iformat?.name ?? '')
    ? ([-1, BigInt(Math.floor(Number(format.pb?.sizeSync() ?? 0) * share)), AVSEEK_FLAG_BYTE] as const)
    : ([-1, BigInt(Math.floor(Number(format.duration) * share)), AVSEEK_FLAG_BACKWARD] as const);
  return format.seekFrameSync(streamIndex, target, flags) >= 0;
};

const describeAudio = (stream: Stream, simpleEditList: boolean): AudioFacts => {
  const { codecpar } = stream;
  const codec = codecNameOf(stream);
  const bits = codecpar.bitsPerRawSample || (codec.startsWith('pcm_') ? codecpar.bitsPerCodedSample : 0);
  const language = stream.metadata?.get('language');
  const config = codec === 'aac' ? audioConfigOf(stream) : undefined;
  return {
    streamIndex: stream.index,
    codec,
    profile: codecpar.profile,
    sampleRate: codecpar.sampleRate,
    channels: codecpar.channels,
    channelLayout: layoutOf(stream),
    ...(bits > 0 && { sampleSizeBits: bits }),
    timeBase: { num: stream.timeBase.num, den: stream.timeBase.den },
    durationSeconds: secondsOf(stream),
    ...(language && language !== 'und' && { language }),
    isDefault: isDefault(stream),
    ...(config && { audioSpecificConfig: Buffer.from(config).toString('base64') }),
    simpleEditList,
  };
};

/** A file that only counts its channels means the usual arrangement of that many. */
const layoutOf = ({ codecpar: { channelLayout, channels } }: Stream): string => {
  const name = avChannelLayoutDescribe(channelLayout);
  const isNamed = name !== null && !/^\d+ channels/.test(name);
  return (isNamed ? name : avChannelLayoutDescribe(avChannelLayoutDefault(channels))) ?? `${channels} channels`;
};

const AAC_SAMPLE_RATES = new Set([96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000]);

/** AAC in a transport stream (ADTS) has no record of its own: it is written from what the stream declares. */
const audioConfigOf = ({ codecpar }: Stream): Uint8Array | undefined => {
  const { extradata, profile, sampleRate, channels } = codecpar;
  if (extradata !== null && extradata.length >= 2) return extradata;
  if (profile !== AV_PROFILE_AAC_LOW || !AAC_SAMPLE_RATES.has(sampleRate) || channels > 6) return undefined;
  return audioSpecificConfig(sampleRate, channels);
};
