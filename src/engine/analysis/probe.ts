import { statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import {
  AV_DISPOSITION_ATTACHED_PIC,
  AV_DISPOSITION_DEFAULT,
  AV_DISPOSITION_STILL_IMAGE,
  AV_DISPOSITION_TIMED_THUMBNAILS,
  AV_PKT_DATA_DISPLAYMATRIX,
  AV_PKT_DATA_DOVI_CONF,
  AV_PROFILE_AAC_LOW,
  AVMEDIA_TYPE_AUDIO,
  AVMEDIA_TYPE_VIDEO,
} from 'node-av/constants';
import {
  avChannelLayoutDefault,
  avChannelLayoutDescribe,
  avGetPixFmtName,
  type FormatContext,
  type Stream,
} from 'node-av/lib';
import { isKinoraError, KinoraError } from '../../lib/errors.js';
import { audioSpecificConfig } from '../../media/codecs/aac.js';
import { readAv1c } from '../../media/codecs/av1.js';
import { avccFromAnnexB } from '../../media/codecs/avc.js';
import { MATRICES, PRIMARIES, RANGES, TRANSFERS } from '../../media/codecs/color-names.js';
import { readHvcc } from '../../media/codecs/hevc.js';
import { findBzip2Streams } from '../../media/matroska/compression.js';
import { isOriginalCodec } from '../../media/plan/original-decision.js';
import { pairMono } from '../../media/source/pair-mono.js';
import { rejections } from '../../media/source/rejections.js';
import type {
  AudioFacts,
  Rational,
  SourceFacts,
  UnplayableStream,
  UnusedStream,
  VideoFacts,
} from '../../media/source/source-facts.js';
import type { ProbeJob } from '../../pool/protocol.js';
import { NO_PTS } from '../ffmpeg/av.js';
import { openSource } from '../ffmpeg/open-source.js';
import { orientationOf } from '../ffmpeg/orientation.js';
import { rangeReader } from '../ffmpeg/staged-ranges.js';
import { codecNameOf, findDecoder, isRefusedFormat, recognizeFormat } from '../ffmpeg/supported-media.js';
import { cropOf } from '../video/reader.js';
import { explainFailure } from './explain-failure.js';
import {
  canStartAtKeyFrames,
  countPackets,
  type FrameSample,
  type InspectedFile,
  inspectKeyFrames,
  sampleFrames,
} from './probe-frames.js';
import { readChapters } from './read-chapters.js';
import { readMoov } from './read-moov.js';
import { readTracks, type TrackFacts } from './read-tracks.js';
import { describeText, labelOf } from './text-streams.js';

const invalidInput = (message: string, cause?: unknown): KinoraError =>
  new KinoraError('invalid_input', { messages: [message], cause });

/** More than the headers of Matroska files need before their first frame. */
const MAX_HEADER_BYTES = 2 ** 16;

const MAX_FRAME_RATE = 1000;

/** Formats that can contain either a still image or a video. */
const ANIMATED_IMAGES = new Set(['gif', 'apng', 'webp_anim', 'jpegxl_anim']);

/**
 * Describes a source. When nothing in it can be played, `refusal` says why.
 * @throws KinoraError `invalid_input` with a message for the caller when the file is not media or
 * can't be read
 */
export const probe = async (job: ProbeJob): Promise<SourceFacts> => {
  const { path } = job.source;
  const sizeBytes = statSync(path).size;
  const file: InspectedFile = { sizeBytes, isPrefix: job.isPrefix === true };
  if (sizeBytes === 0) throw invalidInput('The input file is empty.');
  const formatName = recognizeFormat(path)?.name;
  if (!formatName) throw invalidInput(rejections.notMedia);
  if (isRefusedFormat(formatName))
    return { formatName, sizeBytes, durationSeconds: 0, audio: [], refusal: [rejections.format(formatName)] };
  const format = await openForProbe(job, formatName);
  try {
    const durationSeconds = format.duration > 0n ? Number(format.duration) / 1e6 : 0;
    const moov = formatName.startsWith('mov') ? await readMoov(job.source) : undefined;
    const tracks = moov && readTracks(moov);
    const isSimple = (stream: Stream): boolean => tracks?.get(stream.id)?.hasSimpleEdits ?? true;
    const media = format.streams.filter(isMedia);
    const bzip2 = formatName.startsWith('matroska') ? await readBzip2Streams(job) : undefined;
    const unplayable = media.flatMap(
      (stream) => findObstacle(stream, tracks?.get(stream.id), bzip2?.has(stream.index)) ?? [],
    );
    const usable = media.filter(({ index }) => !unplayable.some(({ streamIndex }) => streamIndex === index));
    const allVideo = usable.filter(isMovingVideo);
    const stills = allVideo.length > 1 ? findStillImages(job, formatName, allVideo) : undefined;
    const movingVideo = allVideo.filter(({ index }) => !stills?.has(index));
    const video = chooseFirst(movingVideo);
    const otherVideo = movingVideo.filter((stream) => stream !== video).map(describeUnused);
    checkPixels(job, video ? [video] : []);
    const sample = video && sampleFrames(format, video);
    if (ANIMATED_IMAGES.has(formatName) && (sample?.count ?? 0) < 2) throw invalidInput(rejections.notMedia);
    const audio = usable.filter((stream) => !isMovingVideo(stream));
    const mainAudio = chooseFirst(audio);
    const text = format.streams.flatMap((stream) => describeText(stream) ?? []);
    const chapters = await readChapters(format);
    return {
      formatName,
      sizeBytes,
      durationSeconds,
      ...(video && sample && { video: describeVideo(format, video, sample, tracks?.get(video.id), file) }),
      audio: pairMono(
        formatName,
        audio
          .toSorted((a, b) => Number(b === mainAudio) - Number(a === mainAudio))
          .map((stream) => describeAudio(stream, isSimple(stream))),
      ),
      ...(text.length > 0 && { text }),
      ...(chapters.length > 0 && { chapters }),
      ...(unplayable.length > 0 && { unplayable }),
      ...(otherVideo.length > 0 && { otherVideo }),
      ...(usable.length === 0 && {
        refusal: media.length === 0 ? [rejections.noMedia] : unplayable.map(({ reason }) => reason),
      }),
    };
  } finally {
    format.closeInputSync();
  }
};

const openForProbe = async (job: ProbeJob, formatName: string): Promise<FormatContext> => {
  const checkStreams = (streams: readonly Stream[]): void => {
    if (streams.length > job.maxStreams)
      throw invalidInput(`The input file has more than ${job.maxStreams} streams, which is not supported.`);
    checkPixels(job, streams);
  };
  try {
    const format = openSource({ ...job.source, formatName }, { inspectHeader: checkStreams });
    try {
      checkStreams(format.streams);
      return format;
    } catch (error) {
      format.closeInputSync();
      throw error;
    }
  } catch (error) {
    if (!isKinoraError(error, 'media_failed')) throw error;
    throw invalidInput(await explainFailure(job.source, formatName, error.details?.code), error);
  }
};

const checkPixels = (job: ProbeJob, streams: readonly Stream[]): void => {
  for (const { codecpar } of streams) {
    const { codecType, width, height } = codecpar;
    if (codecType === AVMEDIA_TYPE_VIDEO && width * height > job.maxPixels)
      throw invalidInput(`The video has ${width}x${height} pixels, which is more than is supported.`);
  }
};

const readBzip2Streams = async ({ source }: ProbeJob): Promise<ReadonlySet<number>> => {
  const file = await open(source.path);
  try {
    const present = source.staged ? (source.staged.ranges[0]?.end ?? 0) : (await file.stat()).size;
    const length = Math.min(present, MAX_HEADER_BYTES);
    return findBzip2Streams(await rangeReader(file, source)(0, length));
  } finally {
    await file.close();
  }
};

/**
 * The streams with a single frame beside one that moves: cover art that the file does not mark as
 * such.
 */
const findStillImages = (
  { source }: ProbeJob,
  formatName: string,
  streams: readonly Stream[],
): ReadonlySet<number> | undefined => {
  const packets = countPackets({ ...source, formatName });
  const stills = streams.filter(({ index }) => (packets.get(index) ?? 0) === 1).map(({ index }) => index);
  return stills.length < streams.length ? new Set(stills) : undefined;
};

const describeUnused = (stream: Stream): UnusedStream => ({
  type: stream.codecpar.codecType === AVMEDIA_TYPE_AUDIO ? 'audio' : 'video',
  streamIndex: stream.index,
  codec: codecNameOf(stream),
  durationSeconds: secondsOf(stream),
});

/** Why a stream can't be played. */
const findObstacle = (
  stream: Stream,
  track: TrackFacts | undefined,
  isBzip2: boolean | undefined,
): UnplayableStream | undefined => {
  const { sampleRate, channels } = stream.codecpar;
  const unused = describeUnused(stream);
  const { type, codec } = unused;
  const describe = (reason: string): UnplayableStream => ({ ...unused, reason });
  // FFmpeg names the key of an encrypted Matroska track.
  if (track?.isEncrypted || stream.metadata?.get('enc_key_id')) return describe(rejections.encrypted(type));
  if (isBzip2) return describe(rejections.compression(type));
  if (!findDecoder(stream)) return describe(rejections.codec(type, codec));
  if (type === 'video') return undefined;
  if (sampleRate <= 0) return describe(rejections.damagedBy('the sample rate of the audio is missing'));
  return channels <= 0 ? describe(rejections.damagedBy('the number of audio channels is missing')) : undefined;
};

const isMedia = (stream: Stream): boolean => isMovingVideo(stream) || stream.codecpar.codecType === AVMEDIA_TYPE_AUDIO;
const NOT_MOVING = AV_DISPOSITION_ATTACHED_PIC | AV_DISPOSITION_STILL_IMAGE | AV_DISPOSITION_TIMED_THUMBNAILS;
const isMovingVideo = (stream: Stream): boolean =>
  stream.codecpar.codecType === AVMEDIA_TYPE_VIDEO && (stream.disposition & NOT_MOVING) === 0;

const isDefault = (stream: Stream): boolean => (stream.disposition & AV_DISPOSITION_DEFAULT) !== 0;
const chooseFirst = (streams: readonly Stream[]): Stream | undefined => streams.find(isDefault) ?? streams[0];

const secondsOf = (stream: Stream): number =>
  stream.duration === NO_PTS ? 0 : (Number(stream.duration) * stream.timeBase.num) / stream.timeBase.den;
const fraction = ({ num, den }: Rational, otherwise: Rational): Rational =>
  num > 0 && den > 0 ? { num, den } : otherwise;

const describeVideo = (
  format: FormatContext,
  stream: Stream,
  sample: FrameSample,
  track: TrackFacts | undefined,
  file: InspectedFile,
): VideoFacts => {
  const { codecpar } = stream;
  const crop = cropOf(stream);
  const { first } = sample;
  const pixelFormat = avGetPixFmtName((first?.format ?? codecpar.format) as never) ?? 'unknown';
  // Copied packets would show what the container crops, and one init segment describes them all.
  const isCopyable = !crop && track?.isUniform !== false;
  const avcc = codecNameOf(stream) === 'h264' && isCopyable ? avccOf(codecpar.extradata) : undefined;
  const dolbyVision = codecpar.getCodedSideData(AV_PKT_DATA_DOVI_CONF);
  const colorName = (names: Readonly<Record<number, string>>, frame: number | undefined, container: number): string =>
    names[frame ?? 2] ?? names[container] ?? 'unknown';
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
    interlaced: sample.interlaced,
    color: {
      primaries: colorName(PRIMARIES, first?.primaries, codecpar.colorPrimaries),
      transfer: colorName(TRANSFERS, first?.transfer, codecpar.colorTrc),
      matrix: colorName(MATRICES, first?.matrix, codecpar.colorSpace),
      range: RANGES[first?.range ?? 0] ?? RANGES[codecpar.colorRange] ?? 'unknown',
    },
    ...(dolbyVision && dolbyVision.length > 2 && { dolbyVisionProfile: dolbyVision[2]! }),
    ...(avcc && { avcc: Buffer.from(avcc).toString('base64') }),
    ...(isCopyable && describeDecoder(format, stream, file)),
    ...(sample.unmarkedStart && { unmarkedStart: true }),
    ...(sample.closedStart && { closedStart: true }),
    ...(sample.decodeTimesOnly && { decodeTimesOnly: true }),
    // What FFmpeg reports for raw streams that have no rate.
    ...(stream.rFrameRate.num > MAX_FRAME_RATE * stream.rFrameRate.den && { frameRateAssumed: true }),
    ...inspectKeyFrames(format, stream, avcc !== undefined, file),
    bitRate: Number(codecpar.bitRate),
    closedCaptions: sample.closedCaptions,
    durationSeconds: secondsOf(stream) || (format.duration > 0n ? Number(format.duration) / 1e6 : 0),
    simpleEditList: track?.hasSimpleEdits ?? true,
  };
};

/** The record of HEVC and AV1 in containers that have one. */
const describeDecoder = (
  format: FormatContext,
  stream: Stream,
  { sizeBytes }: InspectedFile,
): Pick<VideoFacts, 'decoderConfig'> => {
  const codec = codecNameOf(stream);
  const { extradata } = stream.codecpar;
  if (!isOriginalCodec(codec) || extradata === null) return {};
  const summary = codec === 'hevc' ? readHvcc(extradata) : readAv1c(extradata);
  return summary && canStartAtKeyFrames(format, stream, codec, sizeBytes)
    ? { decoderConfig: extradata.toString('base64') }
    : {};
};

const avccOf = (extradata: Buffer | null): Uint8Array | undefined => {
  if (extradata === null || extradata.length === 0) return undefined;
  return extradata[0] === 1 ? extradata : avccFromAnnexB(extradata);
};

/** 8 unless the name of the pixel format says otherwise. */
const bitDepthOf = (pixelFormat: string): number => {
  const digits = /(?:p|p0|p2|p4|y2|gray|xyz|rgb|bgr|rgba|bgra)(9|10|12|14|16|36|48|64)(?:le|be)$/.exec(
    pixelFormat,
  )?.[1];
  if (digits === undefined) return 8;
  const bits = Number(digits);
  return bits > 16 ? (bits === 36 ? 12 : 16) : bits;
};

const describeAudio = (stream: Stream, simpleEditList: boolean): AudioFacts => {
  const { codecpar } = stream;
  const codec = codecNameOf(stream);
  const bits = codecpar.bitsPerRawSample || (codec.startsWith('pcm_') ? codecpar.bitsPerCodedSample : 0);
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
    ...labelOf(stream),
    isDefault: isDefault(stream),
    ...(config && { audioSpecificConfig: Buffer.from(config).toString('base64') }),
    simpleEditList,
  };
};

/** A file that only gives the number of channels means the usual layout for that number. */
const layoutOf = ({ codecpar: { channelLayout, channels } }: Stream): string => {
  const name = avChannelLayoutDescribe(channelLayout);
  const isNamed = name !== null && !/^\d+ channels/.test(name);
  return (isNamed ? name : avChannelLayoutDescribe(avChannelLayoutDefault(channels))) ?? `${channels} channels`;
};

const AAC_SAMPLE_RATES = new Set([96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000]);

/**
 * AAC in a transport stream (ADTS) has no configuration record, so one is written from the stream's
 * parameters.
 */
const audioConfigOf = ({ codecpar }: Stream): Uint8Array | undefined => {
  const { extradata, profile, sampleRate, channels } = codecpar;
  if (extradata !== null && extradata.length >= 2) return extradata;
  if (profile !== AV_PROFILE_AAC_LOW || !AAC_SAMPLE_RATES.has(sampleRate) || channels > 6) return undefined;
  return audioSpecificConfig(sampleRate, channels);
};
