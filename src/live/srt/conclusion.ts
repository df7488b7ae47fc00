import {
  CAPABILITY,
  type Capabilities,
  HANDSHAKE_TYPE,
  type Handshake,
  LATENCY_MS,
  MAX_LATENCY_MS,
  OUR_FLAGS,
  OUR_VERSION,
  REJECTION,
  type Rejection,
  readCapabilities,
  readText,
  writeCapabilities,
  writeHandshake,
} from './handshake.js';
import { readKeyMaterial, type StreamKeys, unwrapKeys, wrappingKey } from './key-material.js';
import { EXTENSION } from './packets.js';
import { BUFFER_PACKETS } from './receive-buffer.js';
import { readStreamId } from './stream-id.js';

const VERSION = 5;
const MTU = 1500;

/** What a peer asks for with its last handshake. */
export interface ConnectionRequest {
  readonly streamKey: string;
  readonly latencyMs: number;
  readonly handshake: Handshake;
  readonly peerLatencyMs: number;
  /** The message with its keys. */
  readonly keyMessage: Buffer;
}

/** @returns the request, or why it is refused */
export const readConclusion = (handshake: Handshake): ConnectionRequest | Rejection => {
  const { version, extensions } = handshake;
  const capabilities = readCapabilities(extensions.get(EXTENSION.handshakeRequest));
  if (version !== VERSION || !capabilities) return REJECTION.version;
  const obstacle = findObstacle(capabilities, handshake);
  if (obstacle !== undefined) return obstacle;
  const streamId = readStreamId(readText(extensions.get(EXTENSION.streamId)));
  if (!streamId) return REJECTION.badRequest;
  if (!streamId.isPublisher) return REJECTION.badMode;
  const keyMessage = extensions.get(EXTENSION.keyRequest);
  if (!keyMessage) return REJECTION.unsecure;
  if (!readKeyMaterial(keyMessage)) return REJECTION.crypto;
  return {
    streamKey: streamId.streamKey,
    latencyMs: Math.min(MAX_LATENCY_MS, Math.max(LATENCY_MS, capabilities.senderLatencyMs)),
    peerLatencyMs: capabilities.receiverLatencyMs,
    handshake,
    keyMessage: Buffer.from(keyMessage),
  };
};

/** What this side does not speak. */
const findObstacle = ({ flags }: Capabilities, { extensions }: Handshake): Rejection | undefined => {
  if (flags & CAPABILITY.stream) return REJECTION.messageApi;
  const congestion = extensions.get(EXTENSION.congestion);
  if (congestion && readText(congestion) !== 'live') return REJECTION.congestion;
  if (extensions.has(EXTENSION.filter)) return REJECTION.filter;
  return extensions.has(EXTENSION.group) ? REJECTION.group : undefined;
};

/** The content of the handshake that accepts a peer. */
export const acceptConclusion = (request: ConnectionRequest, socketId: number, peerAddress: Buffer): Buffer => {
  const { handshake, latencyMs, peerLatencyMs, keyMessage } = request;
  const capabilities: Capabilities = {
    version: OUR_VERSION,
    flags: OUR_FLAGS,
    receiverLatencyMs: latencyMs,
    senderLatencyMs: peerLatencyMs,
  };
  const extensions = new Map([
    [EXTENSION.handshakeResponse, writeCapabilities(capabilities)],
    [EXTENSION.keyResponse, keyMessage],
  ] as [number, Buffer][]);
  const fields = {
    version: VERSION,
    encryption: 0,
    initialSequence: handshake.initialSequence,
    mtu: Math.min(MTU, handshake.mtu),
    flowWindow: BUFFER_PACKETS,
    type: HANDSHAKE_TYPE.conclusion,
    socketId,
    cookie: handshake.cookie,
    extensions,
  };
  return writeHandshake(fields, peerAddress);
};

/** The content of another handshake without extensions: that of an induction, or a rejection. */
export const plainHandshake = (
  { initialSequence, mtu, socketId }: Handshake,
  { type, cookie }: Pick<Handshake, 'type' | 'cookie'>,
  peerAddress: Buffer,
): Buffer => {
  const fields = { version: VERSION, encryption: 0, initialSequence, mtu, flowWindow: BUFFER_PACKETS, socketId };
  return writeHandshake({ ...fields, type, cookie, extensions: new Map() }, peerAddress);
};

/** Reads messages with keys of one stream. The wrapping key is computed once per salt. */
export class KeyReader {
  readonly #passphrase: string;
  #salt: Buffer | undefined;
  #wrapping: Buffer = Buffer.alloc(0);

  constructor(passphrase: string) {
    this.#passphrase = passphrase;
  }

  /** Undefined for another passphrase, and for what is no message with keys. */
  read(message: Buffer): StreamKeys | undefined {
    const material = readKeyMaterial(message);
    if (!material) return undefined;
    const isSame = this.#salt?.equals(material.salt) && this.#wrapping.length === material.keyBytes;
    if (!isSame) {
      this.#wrapping = wrappingKey(this.#passphrase, material);
      this.#salt = material.salt;
    }
    return unwrapKeys(material, this.#wrapping);
  }
}
