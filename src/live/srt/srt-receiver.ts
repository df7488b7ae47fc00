import type { Clock } from '../../lib/clock.js';
import { Acknowledgements } from './acknowledgements.js';
import { cryptPayload, type StreamKeys } from './key-material.js';
import { type PacketRange, writeLossList } from './loss-list.js';
import { CONTROL, type ControlPacket, type DataPacket, EXTENSION, KEY, writeControl } from './packets.js';
import { ReceiveBuffer } from './receive-buffer.js';
import { ReceiveClock } from './receive-clock.js';
import { unwrapSequence, wrapSequence } from './sequence-numbers.js';

/** How often `SrtReceiver.tick` is called. */
export const TICK_MS = 10;
/** Packets after which an acknowledgement does not wait for a tick. */
const LIGHT_ACK_PACKETS = 64;
const KEEP_ALIVE_MS = 1000;
/** A peer that is silent for so long is dead. */
const DEAD_MS = 5000;
/** A peer that is alive, but sends no media. */
const IDLE_MS = 10_000;
/** A NAK fits into one packet. */
const MAX_LOSS_WORDS = 360;
/** New keys cost a millisecond; senders change them once in hours. */
const KEY_CHANGE_MS = 100;

export interface SrtReceiverOptions {
  /** Of the peer. */
  readonly peerSocketId: number;
  /** Of the first packet. */
  readonly initialSequence: number;
  readonly latencyMs: number;
  readonly keys: StreamKeys;
  /** Keys of a message that arrives later; undefined if it can't be used. */
  readonly readKeys: (message: Buffer) => StreamKeys | undefined;
  readonly clock: Clock;
  readonly send: (packet: Buffer) => void;
  /** Media in its order. Each payload is held by nobody else. */
  readonly onPayload: (payload: Buffer) => void;
  /** So many packets before the next payload are lost. */
  readonly onLost: (packets: number) => void;
  /** Called at most once. `isComplete`: the peer has ended the connection. */
  readonly onEnd: (reason: string, isComplete: boolean) => void;
}

/**
 * The receiving side of an SRT connection after its handshake, in live mode: asks for what is
 * missing, and gives it up when it is too late. What has arrived in its order is delivered at once
 * instead of after the latency: a recording needs no even pace, and viewers are closer to what is
 * live.
 */
export class SrtReceiver {
  readonly #options: SrtReceiverOptions;
  readonly #buffer: ReceiveBuffer;
  readonly #clock: ReceiveClock;
  readonly #acknowledgements: Acknowledgements;
  readonly #startMs: number;
  #keys: StreamKeys;
  #keysMs: number;
  #heardMs: number;
  #mediaMs: number;
  #sentMs: number;
  #nakMs = 0;
  #sinceAck = 0;
  #hasEnded = false;

  constructor(options: SrtReceiverOptions) {
    const nowMs = options.clock.monotonicMs();
    this.#options = options;
    this.#keys = options.keys;
    this.#buffer = new ReceiveBuffer(options.initialSequence);
    this.#clock = new ReceiveClock(options.latencyMs);
    this.#acknowledgements = new Acknowledgements(options.initialSequence, nowMs);
    this.#startMs = nowMs;
    this.#keysMs = Number.NEGATIVE_INFINITY;
    this.#heardMs = nowMs;
    this.#mediaMs = nowMs;
    this.#sentMs = nowMs;
  }

  receive(packet: DataPacket | ControlPacket): void {
    if (this.#hasEnded) return;
    this.#heardMs = this.#options.clock.monotonicMs();
    if (packet.kind === 'data') this.#receiveMedia(packet);
    else this.#receiveControl(packet);
  }

  /** Sends what is due, and ends a dead connection. */
  tick(): void {
    if (this.#hasEnded) return;
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#heardMs >= DEAD_MS) {
      this.#finish('The encoder does not respond.', false);
      return;
    }
    if (nowMs - this.#mediaMs >= IDLE_MS) {
      this.close('The encoder has stopped sending.');
      return;
    }
    // Not by the time now: after a pause of this process, what was sent again is still unread.
    this.#buffer.expire((sentMs) => this.#clock.isDue(sentMs, this.#heardMs));
    this.#deliver();
    // What was delivered may have ended the connection.
    if (this.#hasEnded) return;
    if (this.#acknowledgements.isDue(this.#buffer.next, nowMs)) this.#acknowledge(nowMs);
    this.#askAgain(nowMs);
    if (nowMs - this.#sentMs >= KEEP_ALIVE_MS) this.#send(CONTROL.keepAlive, 0, [0]);
  }

  /** Tells the peer that the connection has ended. */
  close(reason: string): void {
    if (this.#hasEnded) return;
    this.#send(CONTROL.shutdown, 0, [0]);
    this.#end(reason, false);
  }

  #receiveMedia({ sequence, keyFlag, timestamp, payload }: DataPacket): void {
    const nowMs = this.#heardMs;
    const buffer = this.#buffer;
    const count = unwrapSequence(sequence, buffer.next);
    if (!buffer.isNew(count)) return;
    const sentMs = this.#clock.arrive(timestamp, nowMs);
    this.#mediaMs = nowMs;
    this.#acknowledgements.count(payload.length, nowMs);
    const gap = buffer.add(count, { payload: this.#decrypt(sequence, keyFlag, payload), sentMs });
    if (gap) this.#askFor([gap]);
    this.#deliver();
    if (this.#hasEnded) return;
    this.#sinceAck += 1;
    if (this.#sinceAck < LIGHT_ACK_PACKETS) return;
    this.#sinceAck = 0;
    this.#send(CONTROL.ack, 0, [wrapSequence(buffer.next)]);
  }

  /** Empty when the peer has not said the key. */
  #decrypt(sequence: number, keyFlag: number, payload: Buffer): Buffer {
    const key = keyFlag === KEY.even ? this.#keys.even : keyFlag === KEY.odd ? this.#keys.odd : undefined;
    return key ? cryptPayload(key, this.#keys.salt, sequence, payload) : Buffer.alloc(0);
  }

  #receiveControl({ type, subtype, info, payload }: ControlPacket): void {
    if (type === CONTROL.ackAck) this.#acknowledgements.confirm(info, this.#heardMs);
    else if (type === CONTROL.dropRequest && payload.length >= 8) this.#drop(payload);
    else if (type === CONTROL.shutdown) this.#finish('The encoder has ended the stream.', true);
    else if (type === CONTROL.extended && subtype === EXTENSION.keyRequest) this.#changeKeys(payload);
  }

  #drop(payload: Buffer): void {
    const { next } = this.#buffer;
    const first = unwrapSequence(payload.readUInt32BE(0) & 0x7fffffff, next);
    const last = unwrapSequence(payload.readUInt32BE(4) & 0x7fffffff, next);
    this.#buffer.drop({ first, last });
    this.#deliver();
  }

  /** The response repeats the message; a sender without one repeats its request. */
  #changeKeys(message: Buffer): void {
    if (this.#heardMs - this.#keysMs < KEY_CHANGE_MS) return;
    this.#keysMs = this.#heardMs;
    const keys = this.#options.readKeys(message);
    if (!keys) return;
    this.#keys = keys.salt.equals(this.#keys.salt) ? { ...this.#keys, ...keys } : keys;
    this.#send(CONTROL.extended, 0, message, EXTENSION.keyResponse);
  }

  #deliver(): void {
    for (const delivery of this.#buffer.take()) {
      if (this.#hasEnded) return;
      if ('lost' in delivery) this.#options.onLost(delivery.lost);
      else if (delivery.payload.length > 0) this.#options.onPayload(delivery.payload);
      else this.#options.onLost(1);
    }
  }

  #acknowledge(nowMs: number): void {
    this.#sinceAck = 0;
    const { next, free } = this.#buffer;
    const { number, words } = this.#acknowledgements.send(next, free, nowMs);
    this.#send(CONTROL.ack, number, [wrapSequence(next), ...words]);
  }

  /** New gaps do not delay it: without it, what is lost twice is never sent again. */
  #askAgain(nowMs: number): void {
    const { missing } = this.#buffer;
    const isDue = nowMs - this.#nakMs >= this.#acknowledgements.nakIntervalMs;
    if (missing.length > 0 && !isDue) return;
    this.#nakMs = nowMs;
    if (missing.length > 0) this.#askFor(missing);
  }

  #askFor(ranges: readonly PacketRange[]): void {
    this.#send(CONTROL.nak, 0, writeLossList(ranges, wrapSequence, MAX_LOSS_WORDS));
  }

  #send(type: number, info: number, content: readonly number[] | Uint8Array, subtype = 0): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.#sentMs = nowMs;
    const timestamp = (nowMs - this.#startMs) * 1000;
    const socketId = this.#options.peerSocketId;
    this.#options.send(writeControl({ type, subtype, info, timestamp, socketId }, content));
  }

  /** Nothing more will arrive. */
  #finish(reason: string, isComplete: boolean): void {
    this.#buffer.flush();
    this.#deliver();
    this.#end(reason, isComplete);
  }

  #end(reason: string, isComplete: boolean): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#options.onEnd(reason, isComplete);
  }
}
