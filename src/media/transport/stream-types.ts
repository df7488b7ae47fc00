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

const VIDEO: Readonly<Record<number, VideoCodec>> = { 0x1b: 'avc', 0x24: 'hevc' };
const AAC_ADTS = 0x0f;
const PRIVATE_DATA = 6;

const unreadableVideo: Readonly<Record<number, string>> = {
  0x01: 'MPEG-1',
  0x02: 'MPEG-2',
  0x10: 'MPEG-4 Visual',
  0x21: 'JPEG 2000',
  0x33: 'VVC',
  0xd1: 'Dirac',
  0xea: 'VC-1',
};
const unreadableAudio: Readonly<Record<number, string>> = {
  0x03: 'MPEG audio',
  0x04: 'MPEG audio',
  0x11: 'AAC in LATM',
  0x80: 'LPCM',
  0x81: 'AC-3',
  0x82: 'DTS',
  0x83: 'TrueHD',
  0x87: 'E-AC-3',
};
/** Codecs of private data, by their registration or descriptor. */
const audioFormats: Readonly<Record<string, string>> = {
  'AC-3': 'AC-3',
  'EAC3': 'E-AC-3',
  'Opus': 'Opus',
  'BSSD': 'SMPTE 302M',
  'DTS1': 'DTS',
  'DTS2': 'DTS',
  'DTS3': 'DTS',
};
const videoFormats: Readonly<Record<string, string>> = { AV01: 'AV1', VVC1: 'VVC', 'VC-1': 'VC-1' };
const audioTags: Readonly<Record<number, string>> = { 0x6a: 'AC-3', 0x7a: 'E-AC-3', 0x7b: 'DTS' };

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
