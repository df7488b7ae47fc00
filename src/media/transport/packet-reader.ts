/** Packets of an MPEG-2 transport stream (ISO/IEC 13818-1, 2.4.3). */
export interface TransportPacket {
  readonly pid: number;
  /** A section or PES packet begins in the payload. */
  readonly startsUnit: boolean;
  /** The content is damaged or scrambled. */
  readonly isUnusable: boolean;
  /** 4 bits, which count the packets with payload of a PID. */
  readonly continuity: number;
  /** The counter may begin anew with this packet. */
  readonly isDiscontinuous: boolean;
  /** Undefined when there is none. */
  readonly payload: Uint8Array | undefined;
}

export const PACKET_BYTES = 188;
const NULL_PID = 0x1fff;
const SYNC = 0x47;
const HEADER_BYTES = 4;

/** Finds packets in bytes that may begin anywhere. */
export class PacketReader {
  #rest: Uint8Array = new Uint8Array(0);
  /** Bytes since the last packet. */
  #skipped = 0;

  /** How many bytes no packet was in. */
  get skippedBytes(): number {
    return this.#skipped;
  }

  /** Bytes are missing before the next ones. */
  lose(): void {
    this.#rest = new Uint8Array(0);
  }

  *push(bytes: Uint8Array): Generator<TransportPacket> {
    const all = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    let at = 0;
    while (at + PACKET_BYTES <= all.length) {
      const next = all[at + PACKET_BYTES];
      if (all[at] !== SYNC || (next !== undefined && next !== SYNC)) {
        at += 1;
        this.#skipped += 1;
        continue;
      }
      this.#skipped = 0;
      const packet = readTransportPacket(all.subarray(at, at + PACKET_BYTES));
      at += PACKET_BYTES;
      if (packet) yield packet;
    }
    // A copy, because the bytes may be part of a larger buffer.
    this.#rest = Uint8Array.from(all.subarray(at));
  }
}

/** Undefined for a packet without any content. */
const readTransportPacket = (bytes: Uint8Array): TransportPacket | undefined => {
  const pid = (bytes[1]! & 0x1f) * 256 + bytes[2]!;
  const control = (bytes[3]! >> 4) & 3;
  if (pid === NULL_PID || control === 0) return undefined;
  const adaptationBytes = control & 2 ? bytes[HEADER_BYTES]! + 1 : 0;
  const start = HEADER_BYTES + adaptationBytes;
  return {
    pid,
    startsUnit: (bytes[1]! & 0x40) !== 0,
    isUnusable: (bytes[1]! & 0x80) !== 0 || (bytes[3]! & 0xc0) !== 0 || start > PACKET_BYTES,
    continuity: bytes[3]! & 0xf,
    isDiscontinuous: adaptationBytes > 1 && (bytes[HEADER_BYTES + 1]! & 0x80) !== 0,
    payload: control & 1 && start < PACKET_BYTES ? bytes.subarray(start) : undefined,
  };
};
