import { readAudioSpecificConfig } from '../codecs/aac.js';
import { findSequenceHeader, readAv1c } from '../codecs/av1.js';
import { readAv1Sequence } from '../codecs/av1-sequence.js';
import { avcCodecs, listAvccSequences, readAvcc } from '../codecs/avc.js';
import { readAvcSequence } from '../codecs/avc-sps.js';
import { listHvccSequences, readHvcc } from '../codecs/hevc.js';
import { readHevcSequence } from '../codecs/hevc-sps.js';
import { writeAudioInit, writeVideoInit } from '../mp4/cmaf.js';
import type { Rational } from '../source/source-facts.js';
import { LIVE_TIMESCALE, toFrameRate } from './frame-grid.js';

export type LiveVideoCodec = 'avc' | 'hevc' | 'av1';

/** What a decoder configuration of live video says. */
export interface LiveVideoFacts {
  readonly codec: LiveVideoCodec;
  readonly record: Uint8Array;
  /** RFC 6381. */
  readonly codecs: string;
  /** After cropping. */
  readonly width: number;
  readonly height: number;
  readonly frameRate?: Rational;
  /** How many frames may precede one in decoding that follow it in display; absent if not said. */
  readonly reorderFrames?: number;
  /** Why players can't be expected to play the frames as they are; absent if they can. */
  readonly obstacle?: string;
}

export interface LiveAudioFacts {
  readonly record: Uint8Array;
  readonly codecs: string;
  readonly sampleRate: number;
  readonly channels: number;
}

/** As in `media/plan/copy-decision.ts`: profiles that every player decodes. */
const PLAYABLE_PROFILES = new Set([66, 77, 100]);
const MAX_LEVEL = 51;
const MAX_FRAME_RATE = 60.5;

/** Undefined for a record that is damaged or says nothing of the size. */
export const readLiveVideo = (codec: LiveVideoCodec, record: Uint8Array): LiveVideoFacts | undefined => {
  if (codec === 'avc') return readAvc(record);
  return codec === 'hevc' ? readHevc(record) : readAv1(record);
};

/** Of the sizes of NAL units in samples. */
const LENGTH_BYTES = 4;

const readAvc = (record: Uint8Array): LiveVideoFacts | undefined => {
  const avcc = readAvcc(record);
  const unit = listAvccSequences(record)[0];
  const sequence = unit && readAvcSequence(unit);
  if (!avcc || !sequence) return undefined;
  const { profile, constraints, level, spsCount, lengthBytes } = avcc;
  const { width, height, frameRate: declared, reorderFrames } = sequence;
  const frameRate = declared && toFrameRate(declared.num / declared.den);
  const find = (): string | undefined => {
    if (!PLAYABLE_PROFILES.has(profile)) return `H.264 profile ${profile}`;
    if (level > MAX_LEVEL) return `H.264 level ${level}`;
    if (sequence.chromaFormat !== 1 || sequence.bitDepth !== 8) return 'the frames are not 4:2:0 with 8 bits';
    if (sequence.isInterlaced) return 'interlaced';
    if (!sequence.hasSquarePixels) return 'pixels are not square';
    if (spsCount !== 1) return 'the stream has not exactly one sequence parameter set';
    if (lengthBytes !== LENGTH_BYTES) return 'lengths are not of 4 bytes';
    if (frameRate && frameRate.num / frameRate.den > MAX_FRAME_RATE) return 'more than 60 frames a second';
    return undefined;
  };
  const obstacle = find();
  return {
    codec: 'avc',
    record,
    codecs: avcCodecs(profile, constraints, level),
    width,
    height,
    ...(frameRate && { frameRate }),
    ...(reorderFrames !== undefined && { reorderFrames }),
    ...(obstacle !== undefined && { obstacle }),
  };
};

const readHevc = (record: Uint8Array): LiveVideoFacts | undefined => {
  const hvcc = readHvcc(record);
  const unit = listHvccSequences(record)[0];
  const sequence = unit && readHevcSequence(unit);
  if (!hvcc || !sequence || hvcc.lengthBytes !== LENGTH_BYTES) return undefined;
  const { width, height, frameRate: declared, reorderFrames } = sequence;
  const frameRate = declared && toFrameRate(declared.num / declared.den);
  return {
    codec: 'hevc',
    record,
    codecs: hvcc.codecs,
    width,
    height,
    ...(frameRate && { frameRate }),
    reorderFrames,
    obstacle: 'the codec is HEVC',
  };
};

const readAv1 = (record: Uint8Array): LiveVideoFacts | undefined => {
  const av1c = readAv1c(record);
  const header = av1c && findSequenceHeader(record);
  const sequence = header && readAv1Sequence(header);
  if (!sequence) return undefined;
  const { width, height, frameRate: declared } = sequence;
  const frameRate = declared && toFrameRate(declared.num / declared.den);
  return {
    codec: 'av1',
    record,
    codecs: av1c.codecs,
    width,
    height,
    ...(frameRate && { frameRate }),
    obstacle: 'the codec is AV1',
  };
};

/** Undefined for a record that is damaged. */
export const readLiveAudio = (record: Uint8Array): LiveAudioFacts | undefined => {
  const config = readAudioSpecificConfig(record);
  if (!config) return undefined;
  const { sampleRate, channels, codecs } = config;
  return { record, codecs, sampleRate, channels };
};

/** @param reorderTicks see `VideoInit` */
export const liveVideoInit = ({ codec, record, width, height }: LiveVideoFacts, reorderTicks: number): Uint8Array => {
  const track = { timescale: LIVE_TIMESCALE, width, height, reorderTicks };
  return codec === 'avc'
    ? writeVideoInit({ ...track, avcc: record })
    : writeVideoInit({ ...track, codec, config: record });
};

export const liveAudioInit = ({ record, sampleRate, channels }: LiveAudioFacts, timescale: number): Uint8Array =>
  writeAudioInit({ sampleRate, channels, audioSpecificConfig: record, timescale });
