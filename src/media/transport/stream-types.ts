import type { ElementaryStream } from './sections.js';

export type VideoCodec = 'avc' | 'hevc';
export type StreamCodec = VideoCodec | 'aac';

interface ChosenStream<C extends StreamCodec> {
  readonly pid: number;
  readonly codec: C;
}

/** What is read of a program: the first stream of each kind that can be. */
export interface ChosenStreams {
  readonly video?: ChosenStream<VideoCodec>;
  readonly audio?: ChosenStream<'aac'>;
  /** Names of codecs for people, when the program has no other video or audio. */
  readonly unreadableVideo?: string;
  readonly unreadableAudio?: string;
}

const VIDEO: Readonly<Record<number, VideoCodec>> = { 27: 'avc', 36: 'hevc' };
const AAC_ADTS = 0x0f;
const PRIVATE_DATA = 6;

const unreadableVideo: Readonly<Record<number, string>> = {
  1: 'MPEG-1',
  2: 'MPEG-2',
  16: 'MPEG-4 Visual',
  33: 'JPEG 2000',
  51: 'VVC',
  209: 'Dirac',
  234: 'VC-1',
};
const unreadableAudio: Readonly<Record<number, string>> = {
  3: 'MPEG audio',
  4: 'MPEG audio',
  17: 'AAC in LATM',
  128: 'LPCM',
  129: 'AC-3',
  130: 'DTS',
  131: 'TrueHD',
  135: 'E-AC-3',
};
/** Codecs of private data, by their registration or descriptor. */
const audioFormats: Readonly<Record<string, string>> = {
  'AC-3': 'AC-3',
  EAC3: 'E-AC-3',
  Opus: 'Opus',
  BSSD: 'SMPTE 302M',
  DTS1: 'DTS',
  DTS2: 'DTS',
  DTS3: 'DTS',
};
const videoFormats: Readonly<Record<string, string>> = { AV01: 'AV1', VVC1: 'VVC', 'VC-1': 'VC-1' };
const audioTags: Readonly<Record<number, string>> = { 106: 'AC-3', 122: 'E-AC-3', 123: 'DTS' };

export const chooseStreams = (streams: readonly ElementaryStream[]): ChosenStreams => {
  const video = streams.find(({ type }) => VIDEO[type] !== undefined);
  const audio = streams.find(({ type }) => type === AAC_ADTS);
  const otherVideo = video ? undefined : firstName(streams, unreadableVideo, videoFormats);
  const otherAudio = audio ? undefined : firstName(streams, unreadableAudio, audioFormats, audioTags);
  return {
    ...(video && { video: { pid: video.pid, codec: VIDEO[video.type]! } }),
    ...(audio && { audio: { pid: audio.pid, codec: 'aac' as const } }),
    ...(otherVideo !== undefined && { unreadableVideo: otherVideo }),
    ...(otherAudio !== undefined && { unreadableAudio: otherAudio }),
  };
};

const firstName = (
  streams: readonly ElementaryStream[],
  types: Readonly<Record<number, string>>,
  formats: Readonly<Record<string, string>>,
  tags: Readonly<Record<number, string>> = {},
): string | undefined => {
  for (const { type, format, tags: own } of streams) {
    const name =
      type === PRIVATE_DATA
        ? (formats[format] ?? own.map((tag) => tags[tag]).find((text) => text !== undefined))
        : types[type];
    if (name !== undefined) return name;
  }
  return undefined;
};
