import type { IngestPacket, VideoConfig } from '../ingest.js';
import { type Amf0Value, writeAmf0 } from './amf0.js';

/** Codec IDs of FLV, and codes of Enhanced RTMP for codecs that have none. */
const AVC_ID = 7;
const AAC_ID = 10;
const FOUR_CCS = { hevc: 'hvc1', av1: 'av01' } as const;

const KEY_FRAME = 1;
const INTER_FRAME = 2;
const SEQUENCE_START = 0;
const CODED_FRAMES = 1;
const CODED_FRAMES_X = 3;
/** The largest time of 24 bits with a sign. */
const MAX_COMPOSITION_MS = 0x7f_ffff;
/** AAC is always declared so, whatever its configuration says (FLV 10.1, E.4.2.1). */
const AAC_HEADER = 0xaf;

/**
 * Bodies of FLV tags for encoders that do not send any: what `readVideoTag` and `readAudioTag`
 * read. Keeps the codec of the last video configuration.
 */
export class FlvBodies {
  #codec: VideoConfig['codec'] = 'avc';

  of(packet: IngestPacket): Uint8Array {
    switch (packet.kind) {
      case 'video-config':
        this.#codec = packet.config.codec;
        return this.#video(KEY_FRAME, SEQUENCE_START, 0, packet.config.record);
      case 'video': {
        const { isKey, compositionMs, data } = packet;
        return this.#video(isKey ? KEY_FRAME : INTER_FRAME, CODED_FRAMES, Math.round(compositionMs), data);
      }
      case 'audio-config':
        return Buffer.concat([Buffer.of(AAC_HEADER, SEQUENCE_START), packet.config.record]);
      case 'audio':
        return Buffer.concat([Buffer.of(AAC_HEADER, CODED_FRAMES), packet.data]);
      case 'metadata':
        return metadataBody(packet.frameRate === undefined ? {} : { framerate: packet.frameRate });
    }
  }

  #video(frameType: number, packetType: number, compositionMs: number, data: Uint8Array): Uint8Array {
    const composition = Buffer.alloc(3);
    composition.writeIntBE(Math.max(-MAX_COMPOSITION_MS, Math.min(MAX_COMPOSITION_MS, compositionMs)), 0, 3);
    if (this.#codec === 'avc')
      return Buffer.concat([Buffer.of((frameType << 4) | AVC_ID, packetType), composition, data]);
    // AV1 has no composition times, and HEVC needs no zeros.
    const isShort = packetType === CODED_FRAMES && this.#codec === 'hevc' && compositionMs === 0;
    const hasTime = packetType === CODED_FRAMES && this.#codec === 'hevc' && !isShort;
    const first = 0x80 | (frameType << 4) | (isShort ? CODED_FRAMES_X : packetType);
    const header = Buffer.concat([Buffer.of(first), Buffer.from(FOUR_CCS[this.#codec])]);
    return Buffer.concat(hasTime ? [header, composition, data] : [header, data]);
  }
}

/** Metadata of a stream whose encoder has sent none. */
export const defaultMetadata = ({ hasVideo, hasAudio }: { hasVideo: boolean; hasAudio: boolean }): Uint8Array =>
  metadataBody({ ...(hasVideo && { videocodecid: AVC_ID }), ...(hasAudio && { audiocodecid: AAC_ID }) });

const metadataBody = (values: Readonly<Record<string, Amf0Value>>): Uint8Array =>
  writeAmf0('@setDataFrame', 'onMetaData', new Map(Object.entries({ ...values, encoder: 'Kinora' })));
