import { buildAvcc } from '../../media/codecs/avc.js';
import { concat, u32 } from '../../media/mp4/box-writer.js';
import type { RtpUnit } from './rtp-order.js';

export interface H264Frame {
  /** In ticks of RTP, 90,000 a second. */
  readonly timestamp: number;
  readonly isKey: boolean;
  /** Length-prefixed NAL units, without parameter sets. */
  readonly data: Uint8Array;
  /** Of a frame with parameter sets. */
  readonly avcc?: Uint8Array;
}

const IDR = 5;
const SPS = 7;
const PPS = 8;
const DELIMITER = 9;
const STAP_A = 24;
const FU_A = 28;
/** A frame of 100 Mb/s that is a key frame has about 2 MiB. */
const MAX_FRAME_BYTES = 8 * 2 ** 20;

/** Makes frames of RTP packets in their order (RFC 6184, packetization mode 1). */
export class H264Frames {
  #units: Buffer[] = [];
  #fragments: Buffer[] = [];
  #bytes = 0;
  #timestamp: number | undefined;
  /** Until a key frame, nothing can be decoded. */
  #needsKey = true;

  get needsKey(): boolean {
    return this.#needsKey;
  }

  /** Packets are missing. */
  lose(): void {
    this.#clear();
    this.#needsKey = true;
  }

  /** The frame that the packet completes. */
  push({ timestamp, marker, payload }: RtpUnit): H264Frame | undefined {
    // The last packet of the frame before is missing.
    if (this.#timestamp !== undefined && this.#timestamp !== timestamp) this.lose();
    this.#timestamp = timestamp;
    this.#bytes += payload.length;
    if (this.#bytes > MAX_FRAME_BYTES || !this.#add(payload)) {
      this.lose();
      return undefined;
    }
    return marker ? this.#finish(timestamp) : undefined;
  }

  /** False for a payload that can't be read. */
  #add(payload: Buffer): boolean {
    if (payload.length === 0) return false;
    const type = payload[0]! & 0x1f;
    if (type > 0 && type < STAP_A) {
      this.#units.push(payload);
      return true;
    }
    if (type === STAP_A) return this.#addAggregate(payload);
    return type === FU_A && this.#addFragment(payload);
  }

  #addAggregate(payload: Buffer): boolean {
    for (let at = 1; at < payload.length; ) {
      if (at + 2 > payload.length) return false;
      const end = at + 2 + payload.readUInt16BE(at);
      if (end > payload.length || end === at + 2) return false;
      this.#units.push(payload.subarray(at + 2, end));
      at = end;
    }
    return true;
  }

  #addFragment(payload: Buffer): boolean {
    if (payload.length < 3) return false;
    const [indicator, header] = [payload[0]!, payload[1]!];
    const isFirst = (header & 0x80) !== 0;
    if (isFirst !== (this.#fragments.length === 0)) return false;
    if (isFirst) this.#fragments.push(Buffer.of((indicator & 0xe0) | (header & 0x1f)));
    this.#fragments.push(payload.subarray(2));
    if ((header & 0x40) === 0) return true;
    this.#units.push(Buffer.concat(this.#fragments));
    this.#fragments = [];
    return true;
  }

  #finish(timestamp: number): H264Frame | undefined {
    const units = this.#units;
    const isWhole = this.#fragments.length === 0;
    this.#clear();
    const ofType = (...types: number[]) => units.filter((unit) => types.includes(unit[0]! & 0x1f));
    const slices = units.filter((unit) => ![SPS, PPS, DELIMITER].includes(unit[0]! & 0x1f));
    const isKey = ofType(IDR).length > 0;
    if (!isWhole || (this.#needsKey && !isKey)) {
      this.#needsKey = true;
      return undefined;
    }
    if (slices.length === 0) return undefined;
    this.#needsKey = false;
    const [sps, pps] = [ofType(SPS), ofType(PPS)];
    const data = concat(slices.flatMap((unit) => [u32(unit.length), unit]));
    return { timestamp, isKey, data, ...(sps.length > 0 && pps.length > 0 && { avcc: buildAvcc(sps, pps) }) };
  }

  #clear(): void {
    this.#units = [];
    this.#fragments = [];
    this.#bytes = 0;
    this.#timestamp = undefined;
  }
}
