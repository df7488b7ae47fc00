/** A PES packet (ISO/IEC 13818-1, 2.4.3.6), usually one frame of video or a few of audio. */
export interface PesPacket {
  /** Presentation time in ticks of 90 kHz, 33 bits; undefined when it has none. */
  readonly pts: number | undefined;
  /** Decode time; the presentation time when it has none of its own. */
  readonly dts: number | undefined;
  readonly data: Buffer;
}

/** A key frame of 100 Mb/s has about 2 MiB. */
const MAX_BYTES = 8 * 2 ** 20;
/** Each part keeps its whole datagram. Full ones have more than `MAX_BYTES`. */
const MAX_PARTS = 48 * 1024;
const HEADER_BYTES = 6;
const EXTENSION_BYTES = 9;
/** A frame of more than 64 KiB may go on in packets without a time. */
const MAX_WHOLE_BYTES = 60_000;

/** Assembles the PES packets of one PID. */
export class PesReader {
  #parts: Uint8Array[] = [];
  #bytes = 0;
  /** Of the packet that is open; 0 when it ends with the next one. */
  #sizeBytes = 0;
  #isOpen = false;

  /** Whether a packet has begun. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** What has arrived of the open packet is dropped. */
  lose(): void {
    this.#isOpen = false;
    this.#parts = [];
    this.#bytes = 0;
  }

  /** The packets that the payload completes. */
  push(payload: Uint8Array, startsUnit: boolean): PesPacket[] {
    const packets: PesPacket[] = [];
    let bytes = payload;
    if (startsUnit && this.#isOpen && this.#sizeBytes === 0 && !hasTime(payload))
      bytes = payload.subarray(EXTENSION_BYTES + (payload[EXTENSION_BYTES - 1] ?? 0));
    else if (startsUnit) {
      packets.push(...this.flush());
      this.#isOpen = true;
      const sizeBytes = payload.length >= HEADER_BYTES ? payload[4]! * 256 + payload[5]! : 0;
      this.#sizeBytes = sizeBytes === 0 || sizeBytes > MAX_WHOLE_BYTES ? 0 : sizeBytes + HEADER_BYTES;
    }
    if (!this.#isOpen) return packets;
    // The payload belongs to a datagram, which nobody else holds.
    this.#parts.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes > MAX_BYTES || this.#parts.length > MAX_PARTS) this.lose();
    else if (this.#sizeBytes > 0 && this.#bytes >= this.#sizeBytes) packets.push(...this.#close());
    return packets;
  }

  /** A packet without a size ends where the next one begins. */
  flush(): PesPacket[] {
    const isWhole = this.#isOpen && this.#sizeBytes === 0;
    if (isWhole) return this.#close();
    this.lose();
    return [];
  }

  #close(): PesPacket[] {
    const bytes = Buffer.concat(this.#parts, this.#bytes);
    const packet = readPes(this.#sizeBytes > 0 ? bytes.subarray(0, this.#sizeBytes) : bytes);
    this.lose();
    return packet ? [packet] : [];
  }
}

/** Whether the packet that begins here has a presentation time. */
const hasTime = (bytes: Uint8Array): boolean => (bytes[7]! & 0x80) !== 0;

/** Undefined when it is damaged. */
const readPes = (bytes: Buffer): PesPacket | undefined => {
  if (bytes.length < EXTENSION_BYTES || bytes.readUIntBE(0, 3) !== 1 || (bytes[6]! & 0xc0) !== 0x80) return undefined;
  const flags = bytes[7]! >> 6;
  const dataAt = EXTENSION_BYTES + bytes[8]!;
  if (dataAt > bytes.length) return undefined;
  const pts = flags & 2 && bytes[8]! >= 5 ? readTimestamp(bytes, 9) : undefined;
  const dts = flags === 3 && bytes[8]! >= 10 ? readTimestamp(bytes, 14) : pts;
  return { pts, dts, data: bytes.subarray(dataAt) };
};

/** 33 bits, with a marker after the third, and then after each 15. */
const readTimestamp = (bytes: Buffer, at: number): number =>
  ((bytes[at]! >> 1) & 7) * 2 ** 30 + (bytes.readUInt16BE(at + 1) >> 1) * 2 ** 15 + (bytes.readUInt16BE(at + 3) >> 1);
