/** The first byte of every packet (ISO/IEC 13818-1, 2.4.3.2). */
const SYNC_BYTE = 0x47;
/**
 * Bytes of a packet, and of what recorders put before or behind it: a time stamp of four bytes, or
 * 16 bytes of error correction.
 */
const PACKET_BYTES = [188, 192, 204];
const PACKETS = 5;

/** Whether a file that begins with `head` is an MPEG transport stream. */
export const isTransportStream = (head: Uint8Array): boolean =>
  PACKET_BYTES.some((length) =>
    Array.from({ length: PACKETS }, (_, packet) => packet * length + (length === 192 ? 4 : 0)).every(
      (at) => head[at] === SYNC_BYTE,
    ),
  );
