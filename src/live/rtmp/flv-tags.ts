/**
 * Bodies of FLV tags, which are RTMP's audio and video messages: the FLV 10.1 specification, annex
 * E.4, and Enhanced RTMP v2. AVC, HEVC and AAC are MP4 samples already.
 */
export type VideoTag =
  | { readonly kind: 'config'; readonly codec: VideoCodec; readonly record: Buffer }
  | {
      readonly kind: 'frame';
      readonly codec: VideoCodec;
      readonly isKey: boolean;
      readonly compositionMs: number;
      readonly data: Buffer;
    }
  | OtherTag;

export type AudioTag =
  | { readonly kind: 'config'; readonly record: Buffer }
  | { readonly kind: 'frame'; readonly data: Buffer }
  | OtherTag;

/** Nothing that is recorded, or the name of a codec that can't be. */
type OtherTag = { readonly kind: 'ignored' } | { readonly kind: 'unsupported'; readonly codecName: string };

export type VideoCodec = 'avc' | 'hevc' | 'av1';

const IGNORED = { kind: 'ignored' } as const;

const KEY_FRAME = 1;
/** A command to the player, without a frame. */
const COMMAND_FRAME = 5;

const SEQUENCE_START = 0;
const CODED_FRAMES = 1;
/** Coded frames with composition time 0. */
const CODED_FRAMES_X = 3;
const METADATA = 4;
const VIDEO_MULTITRACK = 6;
const AUDIO_MULTITRACK = 5;
const MOD_EX = 7;

const videoFourCcs: Readonly<Record<string, VideoCodec>> = { avc1: 'avc', hvc1: 'hevc', av01: 'av1' };
export const SUPPORTED_FOUR_CCS: readonly string[] = [...Object.keys(videoFourCcs), 'mp4a'];

/** Names for people, by codec ID. */
const oldVideoCodecs: Readonly<Record<number, string>> = {
  2: 'Sorenson H.263',
  3: 'Screen Video',
  4: 'VP6',
  5: 'VP6 with alpha',
  6: 'Screen Video 2',
  12: 'HEVC without Enhanced RTMP',
};
const oldAudioCodecs: Readonly<Record<number, string>> = {
  0: 'PCM',
  1: 'ADPCM',
  2: 'MP3',
  3: 'PCM',
  4: 'Nellymoser',
  5: 'Nellymoser',
  6: 'Nellymoser',
  7: 'G.711',
  8: 'G.711',
  11: 'Speex',
  14: 'MP3',
};
const fourCcNames: Readonly<Record<string, string>> = {
  vp08: 'VP8',
  vp09: 'VP9',
  vvc1: 'VVC',
  Opus: 'Opus',
  fLaC: 'FLAC',
  'ac-3': 'AC-3',
  'ec-3': 'E-AC-3',
  '.mp3': 'MP3',
};

/** A tag that is cut off is ignored: encoders send empty ones. */
export const readVideoTag = (body: Buffer): VideoTag => {
  if (body.length < 2) return IGNORED;
  const first = body[0]!;
  if (first >= 0x80) return readEnhancedVideo(body);
  const frameType = first >> 4;
  const codecId = first & 0xf;
  if (frameType === COMMAND_FRAME) return IGNORED;
  if (codecId !== 7) return unsupported(oldVideoCodecs[codecId]);
  if (body.length < 6) return IGNORED;
  const packetType = body[1]!;
  if (packetType === 0) return { kind: 'config', codec: 'avc', record: body.subarray(5) };
  if (packetType !== 1) return IGNORED;
  return { kind: 'frame', codec: 'avc', isKey: frameType === KEY_FRAME, ...withComposition(body.subarray(2)) };
};

/** A frame behind its composition time, which has 24 bits and a sign. */
const withComposition = (bytes: Buffer): { compositionMs: number; data: Buffer } => ({
  compositionMs: bytes.readIntBE(0, 3),
  data: bytes.subarray(3),
});

const readEnhancedVideo = (body: Buffer): VideoTag => {
  const track = firstTrack(body, VIDEO_MULTITRACK);
  const frameType = (body[0]! >> 4) & 7;
  if (!track || track.packetType === METADATA || frameType === COMMAND_FRAME) return IGNORED;
  const { packetType, fourCc, data } = track;
  const codec = videoFourCcs[fourCc];
  if (codec === undefined) return unsupported(fourCcNames[fourCc]);
  if (packetType === SEQUENCE_START) return data.length > 0 ? { kind: 'config', codec, record: data } : IGNORED;
  const isKey = frameType === KEY_FRAME;
  // Only these codecs have a composition time.
  if (packetType === CODED_FRAMES && codec !== 'av1')
    return data.length > 3 ? { kind: 'frame', codec, isKey, ...withComposition(data) } : IGNORED;
  if ((packetType === CODED_FRAMES || packetType === CODED_FRAMES_X) && data.length > 0)
    return { kind: 'frame', codec, isKey, compositionMs: 0, data };
  return IGNORED;
};

/** A tag that is cut off is ignored. */
export const readAudioTag = (body: Buffer): AudioTag => {
  if (body.length < 2) return IGNORED;
  const format = body[0]! >> 4;
  if (format === 9) return readEnhancedAudio(body);
  if (format !== 10) return unsupported(oldAudioCodecs[format]);
  const data = body.subarray(2);
  if (data.length === 0) return IGNORED;
  return body[1] === 0 ? { kind: 'config', record: data } : { kind: 'frame', data };
};

const readEnhancedAudio = (body: Buffer): AudioTag => {
  const track = firstTrack(body, AUDIO_MULTITRACK);
  // 4 describes channels, which the configuration of AAC does too.
  if (!track || track.data.length === 0 || track.packetType > CODED_FRAMES) return IGNORED;
  if (track.fourCc !== 'mp4a') return unsupported(fourCcNames[track.fourCc]);
  const { packetType, data } = track;
  return packetType === SEQUENCE_START ? { kind: 'config', record: data } : { kind: 'frame', data };
};

const unsupported = (codecName = 'an unknown codec'): OtherTag => ({ kind: 'unsupported', codecName });

interface Track {
  readonly packetType: number;
  readonly fourCc: string;
  readonly data: Buffer;
}

/**
 * The content of an extended tag; of several tracks, that of track 0. Undefined when there is none.
 */
const firstTrack = (body: Buffer, multitrack: number): Track | undefined => {
  let packetType = body[0]! & 0xf;
  let at = 1;
  while (packetType === MOD_EX) {
    // Modifiers such as an offset in nanoseconds: a size, the data, the next packet type.
    let size = (body[at] ?? 0) + 1;
    at += 1;
    if (size === 256) {
      if (body.length < at + 2) return undefined;
      size = body.readUInt16BE(at) + 1;
      at += 2;
    }
    at += size;
    const types = body[at];
    if (types === undefined) return undefined;
    packetType = types & 0xf;
    at += 1;
  }
  if (packetType === multitrack) return readTracks(body, at);
  if (body.length < at + 4) return undefined;
  return { packetType, fourCc: fourCcAt(body, at), data: body.subarray(at + 4) };
};

const ONE_TRACK = 0;
const MANY_TRACKS = 1;

const readTracks = (body: Buffer, start: number): Track | undefined => {
  let at = start + 1;
  const [kind, packetType] = [(body[start] ?? 0) >> 4, (body[start] ?? 0) & 0xf];
  let fourCc = '';
  if (kind <= MANY_TRACKS) {
    fourCc = fourCcAt(body, at);
    at += 4;
  }
  while (at < body.length) {
    if (kind > MANY_TRACKS) {
      fourCc = fourCcAt(body, at);
      at += 4;
    }
    const id = body[at];
    at += 1;
    if (kind === ONE_TRACK) return id === 0 ? { packetType, fourCc, data: body.subarray(at) } : undefined;
    if (body.length < at + 3) return undefined;
    const end = at + 3 + body.readUIntBE(at, 3);
    if (id === 0 && end <= body.length) return { packetType, fourCc, data: body.subarray(at + 3, end) };
    at = end;
  }
  return undefined;
};

const fourCcAt = (body: Buffer, at: number): string => body.toString('latin1', at, at + 4);
