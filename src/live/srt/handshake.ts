import { isIPv4 } from 'node:net';
import { EXTENSION } from './packets.js';

/** Handshakes of version 5 (draft-sharabayko-srt-01, 3.2.1). */

export const HANDSHAKE_TYPE = { induction: 1, conclusion: 0xffffffff } as const;
/** The sum of a rejection and its reason is the type of the handshake. */
export const REJECTION_TYPE = 1000;

/** Why a peer is refused; those from 400 on are like the statuses of HTTP. */
export const REJECTION = {
  resource: 2,
  rogue: 4,
  version: 8,
  badSecret: 10,
  unsecure: 11,
  messageApi: 12,
  congestion: 13,
  filter: 14,
  group: 15,
  crypto: 17,
  badRequest: 400,
  overload: 402,
  forbidden: 403,
  notFound: 404,
  badMode: 405,
  conflict: 409,
  unavailable: 503,
} as const;

export type Rejection = (typeof REJECTION)[keyof typeof REJECTION];

/** In the extension field of a response to an induction: the listener speaks version 5. */
const MAGIC = 0x4a17;
/** In the extension field of a conclusion: which extensions follow. */
const HAS_HANDSHAKE = 1;
const HAS_KEYS = 2;
const HAS_CONFIG = 4;
const CONTENT_BYTES = 48;
const ADDRESS_AT = 32;
/** The longest text of SRT, as in other implementations. */
const MAX_TEXT_BYTES = 512;

export interface Handshake {
  readonly version: number;
  /** Length of the key in units of 8 bytes; 0 is what the peer chooses. */
  readonly encryption: number;
  readonly extensionField: number;
  readonly initialSequence: number;
  /** Bytes of an IP packet. */
  readonly mtu: number;
  readonly flowWindow: number;
  /** A value of `HANDSHAKE_TYPE`, or a rejection. */
  readonly type: number;
  /** Of whoever sends the handshake. */
  readonly socketId: number;
  readonly cookie: number;
  /** By type, in bytes as they are sent. */
  readonly extensions: ReadonlyMap<number, Buffer>;
}

/** Undefined when it is cut off. */
export const readHandshake = (content: Buffer): Handshake | undefined => {
  if (content.length < CONTENT_BYTES) return undefined;
  const type = content.readUInt32BE(20);
  const extensions = type === HANDSHAKE_TYPE.conclusion ? readExtensions(content.subarray(CONTENT_BYTES)) : new Map();
  return (
    extensions && {
      version: content.readUInt32BE(0),
      encryption: content.readUInt16BE(4),
      extensionField: content.readUInt16BE(6),
      initialSequence: content.readUInt32BE(8) & 0x7fffffff,
      mtu: content.readUInt32BE(12),
      flowWindow: content.readUInt32BE(16),
      type,
      socketId: content.readUInt32BE(24),
      cookie: content.readUInt32BE(28),
      extensions,
    }
  );
};

const readExtensions = (bytes: Buffer): Map<number, Buffer> | undefined => {
  const extensions = new Map<number, Buffer>();
  for (let at = 0; at + 4 <= bytes.length; ) {
    const end = at + 4 + bytes.readUInt16BE(at + 2) * 4;
    if (end > bytes.length) return undefined;
    extensions.set(bytes.readUInt16BE(at), bytes.subarray(at + 4, end));
    at = end;
  }
  return extensions;
};

/** @param peerAddress IP address of the receiver, as it is sent: see `writeAddress` */
export const writeHandshake = (handshake: Omit<Handshake, 'extensionField'>, peerAddress: Uint8Array): Buffer => {
  const { extensions, type } = handshake;
  const content = Buffer.alloc(CONTENT_BYTES);
  content.writeUInt32BE(handshake.version, 0);
  content.writeUInt16BE(handshake.encryption, 4);
  content.writeUInt16BE(extensionFieldOf(type, handshake.version, [...extensions.keys()]), 6);
  content.writeUInt32BE(handshake.initialSequence, 8);
  content.writeUInt32BE(handshake.mtu, 12);
  content.writeUInt32BE(handshake.flowWindow, 16);
  content.writeUInt32BE(type, 20);
  content.writeUInt32BE(handshake.socketId, 24);
  content.writeUInt32BE(handshake.cookie, 28);
  content.set(peerAddress, ADDRESS_AT);
  const parts = [...extensions].map(([kind, bytes]) => {
    const part = Buffer.alloc(4 + Math.ceil(bytes.length / 4) * 4);
    part.writeUInt16BE(kind, 0);
    part.writeUInt16BE(Math.ceil(bytes.length / 4), 2);
    part.set(bytes, 4);
    return part;
  });
  return Buffer.concat([content, ...parts]);
};

/** The first induction has version 4, and the number of UDT's datagram mode. */
const extensionFieldOf = (type: number, version: number, kinds: readonly number[]): number => {
  if (type === HANDSHAKE_TYPE.induction) return version === 4 ? 2 : MAGIC;
  const flagOf = (kind: number): number => {
    if (kind <= EXTENSION.handshakeResponse) return HAS_HANDSHAKE;
    return kind <= EXTENSION.keyResponse ? HAS_KEYS : HAS_CONFIG;
  };
  return kinds.reduce((flags, kind) => flags | flagOf(kind), 0);
};

export const rejectionType = (reason: Rejection): number => REJECTION_TYPE + reason;

/** The bytes of each 32-bit word are reversed, as in stream IDs. */
const reverseWords = (bytes: Uint8Array): Buffer => {
  const reversed = Buffer.alloc(Math.ceil(bytes.length / 4) * 4);
  for (const [at, byte] of bytes.entries()) reversed[(at & ~3) + 3 - (at & 3)] = byte;
  return reversed;
};

/** Capabilities of a peer, in the extensions `handshakeRequest` and `handshakeResponse`. */
export const CAPABILITY = {
  timedSending: 1,
  timedReceiving: 2,
  encryption: 4,
  dropsLate: 8,
  periodicNak: 0x10,
  marksRetransmitted: 0x20,
  /** A stream of bytes instead of messages. */
  stream: 0x40,
} as const;

/** What peers are told of this side: version 1.5.3 has all of it. */
export const OUR_VERSION = 0x010503;
export const OUR_FLAGS =
  CAPABILITY.timedSending |
  CAPABILITY.timedReceiving |
  CAPABILITY.encryption |
  CAPABILITY.dropsLate |
  CAPABILITY.periodicNak |
  CAPABILITY.marksRetransmitted;
/** The least latency, as in other implementations. */
export const LATENCY_MS = 120;
/** A longer one only delays what is lost: the buffer is full before. */
export const MAX_LATENCY_MS = 8000;

/** What both sides say of themselves. */
export interface Capabilities {
  /** 0x010503 is 1.5.3. */
  readonly version: number;
  readonly flags: number;
  /** How long the peer waits for packets that are sent again, in milliseconds, 16 bits. */
  readonly receiverLatencyMs: number;
  readonly senderLatencyMs: number;
}

/** Undefined when it is cut off. */
export const readCapabilities = (bytes: Buffer | undefined): Capabilities | undefined => {
  if (!bytes || bytes.length < 12) return undefined;
  const [version, flags] = [bytes.readUInt32BE(0), bytes.readUInt32BE(4)];
  return { version, flags, receiverLatencyMs: bytes.readUInt16BE(8), senderLatencyMs: bytes.readUInt16BE(10) };
};

export const writeCapabilities = ({ version, flags, ...latency }: Capabilities): Buffer => {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt32BE(version, 0);
  bytes.writeUInt32BE(flags, 4);
  bytes.writeUInt16BE(latency.receiverLatencyMs, 8);
  bytes.writeUInt16BE(latency.senderLatencyMs, 10);
  return bytes;
};

/** A text of a handshake, such as the stream ID. Empty when it is too long. */
export const readText = (bytes: Buffer | undefined): string => {
  if (!bytes || bytes.length > MAX_TEXT_BYTES) return '';
  const text = reverseWords(bytes);
  let end = text.length;
  while (end > 0 && text[end - 1] === 0) end -= 1;
  return text.toString('utf8', 0, end);
};

export const writeText = (text: string): Buffer => reverseWords(Buffer.from(text));

/** The field of handshakes with the IP address of their receiver. */
export const writePeerAddress = (address: string): Buffer => {
  const bytes = isIPv4(address) ? address.split('.').map(Number) : ipv6Bytes(address);
  return reverseWords(Uint8Array.from(bytes));
};

const ipv6Bytes = (address: string): number[] => {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return [...Array<number>(10).fill(0), 255, 255, ...mapped.split('.').map(Number)];
  const [head = '', tail = ''] = address.replace(/%.*/, '').split('::');
  const groupsOf = (text: string): number[] => (text === '' ? [] : text.split(':').map((group) => parseInt(group, 16)));
  const [first, last] = [groupsOf(head), groupsOf(tail)];
  const zeros = Array<number>(8 - first.length - last.length).fill(0);
  return [...first, ...zeros, ...last].flatMap((group) => [group >> 8, group & 0xff]);
};
