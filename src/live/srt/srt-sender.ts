import type { Clock } from '../../lib/clock.js';
import { cryptPayload, type StreamKeys } from './key-material.js';
import { readLossList } from './loss-list.js';
import { CONTROL, type ControlPacket, type DataPacket, KEY, writeControl, writeData } from './packets.js';
import { unwrapSequence, wrapSequence } from './sequence-numbers.js';

const KEEP_ALIVE_MS = 1000;
/** A peer that is silent for so long is dead. */
const DEAD_MS = 5000;
/** What is older than the latency by this is not repeated any more. */
const DROP_MS = 1000;
/** 12 MB. */
const MAX_PACKETS = 8192;
/** In one tick of 10 ms: 67 Mb/s. Systems have small buffers for what arrives. */
const TICK_PACKETS = 64;
/** Nothing shows that the last packets are lost: the last one is repeated after this time. */
const LAST_MS = 300;

export interface SrtSenderOptions {
  /** Of the peer. */
  readonly peerSocketId: number;
  /** Of the first packet. */
  readonly initialSequence: number;
  /** How long the peer waits for what is sent again. */
  readonly latencyMs: number;
  /** Absent: nothing is encrypted. */
  readonly keys?: Required<Pick<StreamKeys, 'salt' | 'even'>> | undefined;
  readonly clock: Clock;
  /** When the handshake began: the origin of timestamps. */
  readonly startMs: number;
  readonly send: (packet: Buffer) => void;
  /** The peer has ended the connection or is dead; called at most once. */
  readonly onEnd: (reason: 'ended' | 'silent') => void;
}

interface SentPacket {
  readonly payload: Buffer;
  readonly sentMs: number;
}

/**
 * The sending side of an SRT connection after its handshake, in live mode: keeps what was sent
 * until it is acknowledged or too late, and repeats what is asked for.
 */
export class SrtSender {
  readonly #options: SrtSenderOptions;
  /** Of packets, without a wrap. */
  readonly #packets = new Map<number, SentPacket>();
  /** The first packet that is kept. */
  #first: number;
  #next: number;
  #acknowledged: number;
  /** Packets that the peer can take. */
  #window = MAX_PACKETS;
  #budget = TICK_PACKETS;
  #heardMs: number;
  #sentMs: number;
  #mediaMs: number;
  /** When the last packet was sent or repeated. */
  #lastMs: number;
  #hasEnded = false;

  constructor(options: SrtSenderOptions) {
    const nowMs = options.clock.monotonicMs();
    this.#options = options;
    this.#first = options.initialSequence;
    this.#next = options.initialSequence;
    this.#acknowledged = options.initialSequence;
    this.#heardMs = nowMs;
    this.#sentMs = nowMs;
    this.#mediaMs = nowMs;
    this.#lastMs = nowMs;
  }

  /** Nothing should be sent before the next tick, or before the peer has taken something. */
  get isBlocked(): boolean {
    return this.#hasEnded || this.#budget <= 0 || this.#next - this.#acknowledged >= this.#window;
  }

  /**
   * What was sent is acknowledged, or given up, and the peer has passed it on: a peer that delivers
   * after the latency drops the rest when the connection ends.
   */
  get isDelivered(): boolean {
    const { clock, latencyMs } = this.#options;
    return this.#packets.size === 0 && clock.monotonicMs() - this.#mediaMs > latencyMs;
  }

  /** @param payload at most what a packet can have */
  write(payload: Uint8Array): void {
    if (this.#hasEnded) return;
    const { keys, clock } = this.#options;
    const sequence = wrapSequence(this.#next);
    const sentMs = clock.monotonicMs();
    const bytes = keys ? cryptPayload(keys.even, keys.salt, sequence, payload) : Buffer.from(payload);
    this.#packets.set(this.#next, { payload: bytes, sentMs });
    this.#sendData(this.#next, false);
    this.#next += 1;
    this.#mediaMs = sentMs;
    this.#lastMs = sentMs;
    if (this.#packets.size > MAX_PACKETS) this.#forget(this.#first + 1);
  }

  receive(packet: DataPacket | ControlPacket): void {
    if (this.#hasEnded || packet.kind === 'data') return;
    this.#heardMs = this.#options.clock.monotonicMs();
    const { type, payload, info } = packet;
    if (type === CONTROL.ack && payload.length >= 4) this.#receiveAck(payload, info);
    else if (type === CONTROL.nak) this.#repeat(payload);
    else if (type === CONTROL.shutdown) this.#end('ended');
  }

  /** Sends what is due, and ends a dead connection. Called every 10 ms. */
  tick(): void {
    if (this.#hasEnded) return;
    const nowMs = this.#options.clock.monotonicMs();
    this.#budget = TICK_PACKETS;
    if (nowMs - this.#heardMs >= DEAD_MS) {
      this.#end('silent');
      return;
    }
    const lateMs = nowMs - this.#options.latencyMs - DROP_MS;
    for (let packet = this.#packets.get(this.#first); packet && packet.sentMs < lateMs; ) {
      this.#forget(this.#first + 1);
      packet = this.#packets.get(this.#first);
    }
    if (this.#packets.size > 0 && nowMs - this.#lastMs >= LAST_MS) {
      this.#lastMs = nowMs;
      this.#sendData(this.#next - 1, true);
    }
    if (nowMs - this.#sentMs >= KEEP_ALIVE_MS) this.#sendControl(CONTROL.keepAlive, 0, [0]);
  }

  /** Tells the peer that the connection has ended. */
  close(): void {
    if (this.#hasEnded) return;
    this.#sendControl(CONTROL.shutdown, 0, [0]);
    this.#hasEnded = true;
  }

  #receiveAck(payload: Buffer, number: number): void {
    // A short one has no number, and needs no confirmation.
    if (payload.length >= 16) {
      this.#window = Math.min(MAX_PACKETS, Math.max(2, payload.readUInt32BE(12)));
      this.#sendControl(CONTROL.ackAck, number, [0]);
    }
    const next = unwrapSequence(payload.readUInt32BE(0) & 0x7fffffff, this.#next);
    // What was not sent can't have arrived.
    if (next <= this.#acknowledged || next > this.#next) return;
    this.#acknowledged = next;
    this.#forget(next);
  }

  #repeat(payload: Buffer): void {
    for (const { first, last } of readLossList(payload) ?? []) {
      const from = unwrapSequence(first, this.#next);
      const to = Math.min(unwrapSequence(last, this.#next), this.#next - 1);
      // The peer need not ask for it any more.
      if (from < this.#first) {
        const until = Math.min(to, this.#first - 1);
        this.#sendControl(CONTROL.dropRequest, 0, [wrapSequence(from), wrapSequence(until)]);
      }
      for (let count = Math.max(from, this.#first); count <= to; count += 1) {
        // A peer that asks for too much gets the rest when it asks again.
        if (this.#budget <= 0) return;
        this.#sendData(count, true);
      }
    }
  }

  #forget(next: number): void {
    for (; this.#first < next; this.#first += 1) this.#packets.delete(this.#first);
    this.#acknowledged = Math.max(this.#acknowledged, this.#first);
  }

  #sendData(count: number, isRetransmitted: boolean): void {
    const packet = this.#packets.get(count);
    if (!packet) return;
    const { startMs, peerSocketId: socketId, keys, send } = this.#options;
    this.#budget -= 1;
    this.#sentMs = this.#options.clock.monotonicMs();
    send(
      writeData({
        sequence: wrapSequence(count),
        keyFlag: keys ? KEY.even : KEY.none,
        timestamp: (packet.sentMs - startMs) * 1000,
        messageNumber: count - this.#options.initialSequence + 1,
        payload: packet.payload,
        ...{ socketId, isRetransmitted },
      }),
    );
  }

  #sendControl(type: number, info: number, content: readonly number[]): void {
    const { clock, startMs, peerSocketId: socketId, send } = this.#options;
    this.#sentMs = clock.monotonicMs();
    send(writeControl({ type, info, timestamp: (this.#sentMs - startMs) * 1000, socketId }, content));
  }

  #end(reason: 'ended' | 'silent'): void {
    this.#hasEnded = true;
    this.#options.onEnd(reason);
  }
}
