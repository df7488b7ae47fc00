import { readAudioSpecificConfig } from '../../media/codecs/aac.js';
import type { IngestPacket } from '../ingest.js';
import { readAmf0 } from './amf0.js';
import { readAudioTag, readVideoTag, type VideoCodec } from './flv-tags.js';
import { TimestampUnwrapper } from './timestamp-unwrapper.js';

export const AUDIO = 8;
export const VIDEO = 9;
export const AMF3_DATA = 15;
export const AMF0_DATA = 18;
export const AGGREGATE = 22;

const AAC_LC = 2;
/** Audio object types that every player decodes: AAC-LC and HE-AAC (ISO/IEC 14496-3, 1.5.1.1). */
const PLAYABLE_AAC = new Set([AAC_LC, 5, 29]);
/** Larger ones are no records of a decoder configuration. */
const MAX_RECORD_BYTES = 64 * 1024;
/** Of an FLV tag, and of the size that follows it (FLV 10.1, E.4.1). */
const TAG_HEADER_SIZE = 11;
const TAG_SIZE_SIZE = 4;

/** Turns the media messages of one publication into packets. */
export class MediaReader {
  private readonly times = new TimestampUnwrapper();
  private videoCodec: VideoCodec | undefined;
  private videoRecord: Buffer | undefined;
  private audioRecord: Buffer | undefined;

  /** @param onPacket takes a packet and the body of the tag that it was read from */
  constructor(private readonly onPacket: (packet: IngestPacket, flvBody: Buffer) => void) {}

  /** @returns what to change in the encoder, if it sends a codec that can't be recorded */
  read(typeId: number, timestamp: number, payload: Buffer): string | undefined {
    if (typeId === VIDEO) return this.readVideo(timestamp, payload);
    if (typeId === AUDIO) return this.readAudio(timestamp, payload);
    if (typeId === AGGREGATE) return this.readAggregate(timestamp, payload);
    if (typeId === AMF0_DATA || typeId === AMF3_DATA) this.readData(payload);
    return undefined;
  }

  private readVideo(timestamp: number, payload: Buffer): string | undefined {
    const tag = readVideoTag(payload);
    if (tag.kind === 'unsupported')
      return `The video codec is ${tag.codecName}. Set the video encoder to H.264 (or to HEVC or AV1 with Enhanced RTMP).`;
    if (tag.kind === 'config') {
      if (!isNewRecord(tag.record, this.videoRecord) && tag.codec === this.videoCodec) return undefined;
      this.videoCodec = tag.codec;
      // A copy, because it is held longer than the read that it is a part of.
      this.videoRecord = Buffer.from(tag.record);
      const config = { codec: tag.codec, record: this.videoRecord };
      this.onPacket({ kind: 'video-config', config }, Buffer.from(payload));
    } else if (tag.kind === 'frame' && tag.codec === this.videoCodec) {
      const { isKey, compositionMs, data } = tag;
      this.onPacket({ kind: 'video', dtsMs: this.times.unwrap(timestamp), compositionMs, isKey, data }, payload);
    }
    return undefined;
  }

  private readAudio(timestamp: number, payload: Buffer): string | undefined {
    const tag = readAudioTag(payload);
    if (tag.kind === 'unsupported') return `The audio codec is ${tag.codecName}. Set the audio encoder to AAC.`;
    if (tag.kind === 'config') {
      if (!isNewRecord(tag.record, this.audioRecord)) return undefined;
      const kind = readAudioSpecificConfig(tag.record)?.objectType ?? AAC_LC;
      if (!PLAYABLE_AAC.has(kind)) return `The audio is AAC of kind ${kind}. Set the audio encoder to AAC-LC.`;
      this.audioRecord = Buffer.from(tag.record);
      const config = { codec: 'aac', record: this.audioRecord } as const;
      this.onPacket({ kind: 'audio-config', config }, Buffer.from(payload));
    } else if (tag.kind === 'frame' && this.audioRecord) {
      this.onPacket({ kind: 'audio', dtsMs: this.times.unwrap(timestamp), data: tag.data }, payload);
    }
    return undefined;
  }

  /** FLV tags whose times are relative to the first one (RTMP 1.0, 7.1.6). */
  private readAggregate(timestamp: number, payload: Buffer): string | undefined {
    let firstMs: number | undefined;
    for (let at = 0; at + TAG_HEADER_SIZE <= payload.length; ) {
      const typeId = payload[at]! & 0x1f;
      const bodyAt = at + TAG_HEADER_SIZE;
      const end = bodyAt + payload.readUIntBE(at + 1, 3);
      if (end > payload.length) return undefined;
      const tagMs = payload.readUIntBE(at + 4, 3) + payload[at + 7]! * 2 ** 24;
      firstMs ??= tagMs;
      const problem =
        typeId === AGGREGATE
          ? undefined
          : this.read(typeId, (timestamp + tagMs - firstMs) >>> 0, payload.subarray(bodyAt, end));
      if (problem !== undefined) return problem;
      at = end + TAG_SIZE_SIZE;
    }
    return undefined;
  }

  private readData(payload: Buffer): void {
    const body = withoutAmf3Marker(payload);
    let values: ReturnType<typeof readAmf0>;
    try {
      values = readAmf0(body);
    } catch {
      // Metadata is optional, and not all encoders write it well.
      return;
    }
    const [name, ...rest] = values[0] === '@setDataFrame' ? values.slice(1) : values;
    const [metadata] = rest;
    if (name !== 'onMetaData' || !(metadata instanceof Map)) return;
    const frameRate = Number(metadata.get('framerate'));
    const isReasonable = frameRate > 0 && frameRate <= 1000;
    this.onPacket({ kind: 'metadata', frameRate: isReasonable ? frameRate : undefined }, Buffer.from(body));
  }
}

/** AMF3 messages are AMF0 behind a zero byte: commands and metadata begin with a text. */
export const withoutAmf3Marker = (payload: Buffer): Buffer => (payload[0] === 0 ? payload.subarray(1) : payload);

/** Many encoders repeat the configuration with each key frame. */
const isNewRecord = (record: Buffer, last: Buffer | undefined): boolean =>
  record.length <= MAX_RECORD_BYTES && !last?.equals(record);
