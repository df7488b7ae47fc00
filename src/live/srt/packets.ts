/**
 * Packets of SRT (draft-sharabayko-srt-01, 3): a header of 16 bytes, then media or the content of a
 * control packet. All numbers are big-endian.
 */

/** Types of control packets. */
export const CONTROL = {
  handshake: 0,
  keepAlive: 1,
  ack: 2,
  nak: 3,
  shutdown: 5,
  ackAck: 6,
  dropRequest: 7,
  /** Its subtype says what it is. */
  extended: 0x7fff,
} as const;

/** Types of handshake extensions, and subtypes of `CONTROL.extended`. */
export const EXTENSION = {
  handshakeRequest: 1,
  handshakeResponse: 2,
  keyRequest: 3,
  keyResponse: 4,
  streamId: 5,
  congestion: 6,
  filter: 7,
  group: 8,
} as const;

/** Which key encrypts a packet. */
export const KEY = { none: 0, even: 1, odd: 2 } as const;

export interface DataPacket {
  readonly kind: 'data';
  /** 31 bits. */
  readonly sequence: number;
  /** A value of `KEY`; 3 is invalid. */
  readonly keyFlag: number;
  /** Microseconds since the sender began, modulo 2^32. */
  readonly timestamp: number;
  /** Of the receiver; 0 before it is known. */
  readonly socketId: number;
  readonly payload: Buffer;
}

export interface ControlPacket {
  readonly kind: 'control';
  readonly type: number;
  readonly subtype: number;
  /** Its meaning depends on the type. */
  readonly info: number;
  readonly timestamp: number;
  readonly socketId: number;
  readonly payload: Buffer;
}

const HEADER_BYTES = 16;
const CONTROL_BIT = 0x80000000;
/** A data packet is a whole message, as always in live mode. */
const SOLO = 0xc0000000;

/** Undefined for what is too short. The payload is a part of `bytes`. */
export const readPacket = (bytes: Buffer): DataPacket | ControlPacket | undefined => {
  if (bytes.length < HEADER_BYTES) return undefined;
  const first = bytes.readUInt32BE(0);
  const second = bytes.readUInt32BE(4);
  const common = {
    timestamp: bytes.readUInt32BE(8),
    socketId: bytes.readUInt32BE(12),
    payload: bytes.subarray(HEADER_BYTES),
  };
  if (first < CONTROL_BIT) return { kind: 'data', sequence: first, keyFlag: (second >>> 27) & 3, ...common };
  return { kind: 'control', type: (first >>> 16) & 0x7fff, subtype: first & 0xffff, info: second, ...common };
};

type ControlFields = Pick<ControlPacket, 'type' | 'timestamp' | 'socketId'> &
  Partial<Pick<ControlPacket, 'subtype' | 'info'>>;

/** @param words 32-bit numbers, or bytes */
export const writeControl = (
  { type, subtype = 0, info = 0, timestamp, socketId }: ControlFields,
  content: readonly number[] | Uint8Array = [],
): Buffer => {
  const payload = content instanceof Uint8Array ? content : writeWords(content);
  const bytes = Buffer.alloc(HEADER_BYTES + payload.length);
  bytes.writeUInt32BE(CONTROL_BIT + type * 0x10000 + subtype, 0);
  writeRest(bytes, info, timestamp, socketId);
  bytes.set(payload, HEADER_BYTES);
  return bytes;
};

interface DataFields extends Omit<DataPacket, 'kind' | 'payload'> {
  readonly payload: Uint8Array;
  /** Counted from 1; the low 26 bits are sent. */
  readonly messageNumber: number;
  readonly isRetransmitted: boolean;
}

export const writeData = (packet: DataFields): Buffer => {
  const { sequence, keyFlag, timestamp, socketId, payload, messageNumber, isRetransmitted } = packet;
  const bytes = Buffer.alloc(HEADER_BYTES + payload.length);
  bytes.writeUInt32BE(sequence, 0);
  const flags = SOLO + keyFlag * 2 ** 27 + (isRetransmitted ? 2 ** 26 : 0);
  writeRest(bytes, flags + (messageNumber & 0x3ffffff), timestamp, socketId);
  bytes.set(payload, HEADER_BYTES);
  return bytes;
};

const writeRest = (bytes: Buffer, second: number, timestamp: number, socketId: number): void => {
  bytes.writeUInt32BE(second >>> 0, 4);
  bytes.writeUInt32BE(timestamp >>> 0, 8);
  bytes.writeUInt32BE(socketId, 12);
};

const writeWords = (words: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(words.length * 4);
  for (const [at, word] of words.entries()) bytes.writeUInt32BE(word >>> 0, at * 4);
  return bytes;
};
