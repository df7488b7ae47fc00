import type { Clock } from '../../lib/clock.js';
import { newKeyBytes } from '../../lib/ids.js';
import {
  HANDSHAKE_TYPE,
  type Handshake,
  LATENCY_MS,
  OUR_FLAGS,
  OUR_VERSION,
  REJECTION_TYPE,
  readCapabilities,
  readHandshake,
  writeCapabilities,
  writeHandshake,
  writeText,
} from './handshake.js';
import { wrapKeys, wrappingKey, writeKeyMaterial } from './key-material.js';
import { CONTROL, type ControlPacket, EXTENSION, writeControl } from './packets.js';
import type { SrtSenderOptions } from './srt-sender.js';

/** Handshakes are sent again until there is a response. */
const REPEAT_MS = 250;
const VERSION = 5;
const MTU = 1500;
const FLOW_WINDOW = 8192;
const SALT_BYTES = 16;

/** What a peer is told when it is called. */
export interface SrtCall {
  readonly streamId: string;
  /** Absent: nothing is encrypted. */
  readonly passphrase?: string | undefined;
  /** 16, 24 or 32. */
  readonly keyBytes: number;
  readonly latencyMs: number;
}

/** What is needed to send, once the peer has accepted. */
export type SrtAccepted = Pick<SrtSenderOptions, 'peerSocketId' | 'initialSequence' | 'latencyMs' | 'keys' | 'startMs'>;

interface SrtCallerOptions {
  readonly call: SrtCall;
  readonly clock: Clock;
  readonly send: (packet: Buffer) => void;
  readonly onAccepted: (accepted: SrtAccepted) => void;
  /** `code`: the number of the peer, as in docs/live.md, or `no_srt`. */
  readonly onRefused: (code: string) => void;
}

/** The handshake of a caller: an induction, then a conclusion with the cookie of the peer. */
export class SrtCaller {
  readonly #options: SrtCallerOptions;
  readonly #startMs: number;
  readonly #socketId = (Buffer.from(newKeyBytes(4)).readUInt32BE(0) & 0x3fffffff) | 1;
  readonly #initialSequence = Buffer.from(newKeyBytes(4)).readUInt32BE(0) & 0x7fffffff;
  readonly #keys: SrtAccepted['keys'];
  readonly #keyMessage: Buffer | undefined;
  #cookie: number | undefined;
  #sentMs = Number.NEGATIVE_INFINITY;
  #isOver = false;

  constructor(options: SrtCallerOptions) {
    this.#options = options;
    this.#startMs = options.clock.monotonicMs();
    const { passphrase, keyBytes } = options.call;
    if (passphrase !== undefined) {
      const salt = Buffer.from(newKeyBytes(SALT_BYTES));
      this.#keys = { salt, even: Buffer.from(newKeyBytes(keyBytes)) };
      this.#keyMessage = writeKeyMaterial(wrapKeys(this.#keys, wrappingKey(passphrase, { salt, keyBytes })));
    }
    this.tick();
  }

  /** Called every 10 ms. */
  tick(): void {
    const nowMs = this.#options.clock.monotonicMs();
    if (this.#isOver || nowMs - this.#sentMs < REPEAT_MS) return;
    this.#sentMs = nowMs;
    const isFirst = this.#cookie === undefined;
    const content = writeHandshake(
      {
        version: isFirst ? 4 : VERSION,
        encryption: 0,
        initialSequence: this.#initialSequence,
        mtu: MTU,
        flowWindow: FLOW_WINDOW,
        type: isFirst ? HANDSHAKE_TYPE.induction : HANDSHAKE_TYPE.conclusion,
        socketId: this.#socketId,
        cookie: this.#cookie ?? 0,
        extensions: isFirst ? new Map() : this.#extensions(),
      },
      Buffer.alloc(4),
    );
    const timestamp = (nowMs - this.#startMs) * 1000;
    this.#options.send(writeControl({ type: CONTROL.handshake, timestamp, socketId: 0 }, content));
  }

  receive({ type, payload, socketId }: ControlPacket): void {
    if (this.#isOver || type !== CONTROL.handshake || socketId !== this.#socketId) return;
    const handshake = readHandshake(payload);
    if (!handshake) return;
    if (handshake.type >= REJECTION_TYPE && handshake.type < HANDSHAKE_TYPE.conclusion)
      this.#refuse(`srt_${handshake.type}`);
    else if (handshake.type === HANDSHAKE_TYPE.induction && this.#cookie === undefined) this.#induced(handshake);
    else if (handshake.type === HANDSHAKE_TYPE.conclusion && this.#cookie !== undefined) this.#accepted(handshake);
  }

  #induced({ version, cookie }: Handshake): void {
    if (version !== VERSION) {
      this.#refuse('no_srt');
      return;
    }
    this.#cookie = cookie;
    this.#sentMs = Number.NEGATIVE_INFINITY;
    this.tick();
  }

  #accepted({ socketId, extensions }: Handshake): void {
    const capabilities = readCapabilities(extensions.get(EXTENSION.handshakeResponse));
    // A short response to keys says what is wrong with them.
    const keyResponse = extensions.get(EXTENSION.keyResponse);
    if (!capabilities || (this.#keys && (keyResponse?.length ?? 0) <= 4)) {
      this.#refuse(capabilities ? 'srt_1010' : 'no_srt');
      return;
    }
    this.#isOver = true;
    this.#options.onAccepted({
      peerSocketId: socketId,
      initialSequence: this.#initialSequence,
      latencyMs: Math.max(this.#options.call.latencyMs, capabilities.receiverLatencyMs),
      keys: this.#keys,
      startMs: this.#startMs,
    });
  }

  #extensions(): Map<number, Buffer> {
    const { streamId, latencyMs } = this.#options.call;
    const latency = Math.max(LATENCY_MS, latencyMs);
    const extensions = new Map<number, Buffer>([
      [
        EXTENSION.handshakeRequest,
        writeCapabilities({
          ...{ version: OUR_VERSION, flags: OUR_FLAGS },
          ...{ receiverLatencyMs: latency, senderLatencyMs: latency },
        }),
      ],
    ]);
    if (this.#keyMessage) extensions.set(EXTENSION.keyRequest, this.#keyMessage);
    if (streamId !== '') extensions.set(EXTENSION.streamId, writeText(streamId));
    return extensions;
  }

  #refuse(code: string): void {
    this.#isOver = true;
    this.#options.onRefused(code);
  }
}
