import type { PacketRange } from './loss-list.js';

export interface HeldPacket {
  readonly payload: Buffer;
  /** See `ReceiveClock.arrive`. */
  readonly sentMs: number;
}

/** The next payload, or how many packets are lost before it. */
export type Delivery = { readonly payload: Buffer } | { readonly lost: number };

/** 12 MB: a second at 100 Mb/s. */
export const BUFFER_PACKETS = 8192;
/** No sender is so far ahead within the time after which it counts as dead. */
const MAX_JUMP = 2 ** 20;

/** Puts packets into their order; those behind a missing one wait. Counts do not wrap. */
export class ReceiveBuffer {
  /** The first packet that is not delivered. */
  #next: number;
  /** Follows the last packet that has arrived. */
  #end: number;
  readonly #held = new Map<number, HeldPacket>();
  /** In their order. */
  #missing: PacketRange[] = [];
  #deliveries: Delivery[] = [];

  constructor(first: number) {
    this.#next = first;
    this.#end = first;
  }

  get next(): number {
    return this.#next;
  }

  get free(): number {
    return BUFFER_PACKETS - (this.#end - this.#next);
  }

  get missing(): readonly PacketRange[] {
    return this.#missing;
  }

  /** What can be delivered since the last call. */
  take(): Delivery[] {
    return this.#deliveries.splice(0);
  }

  /** Whether the packet is neither a repetition nor too late. */
  isNew(count: number): boolean {
    return count >= this.#next && count < this.#next + MAX_JUMP && !this.#held.has(count);
  }

  /** Takes a new packet. @returns the packets before it, if they are missing since now */
  add(count: number, packet: HeldPacket): PacketRange | undefined {
    if (count >= this.#next + BUFFER_PACKETS) this.#skipTo(count - BUFFER_PACKETS + 1);
    this.#held.set(count, packet);
    let gap: PacketRange | undefined;
    if (count < this.#end) this.#remove({ first: count, last: count });
    else {
      if (count > this.#end) {
        gap = { first: this.#end, last: count - 1 };
        this.#missing.push(gap);
      }
      this.#end = count + 1;
    }
    this.#deliverHeld();
    return gap;
  }

  /**
   * The sender has given these packets up. Counts only if the next packet is one of them: others
   * are asked for again until then.
   */
  drop({ first, last }: PacketRange): void {
    if (first <= this.#next && last >= this.#next && last < this.#next + BUFFER_PACKETS) this.#skipTo(last + 1);
  }

  /** Gives up what is missing before packets that are due. */
  expire(isDue: (sentMs: number) => boolean): void {
    for (;;) {
      const behind = this.#missing[0] && this.#missing[0].last + 1;
      const packet = behind === undefined ? undefined : this.#held.get(behind);
      if (behind === undefined || (packet && !isDue(packet.sentMs))) return;
      this.#skipTo(behind);
    }
  }

  /** Delivers all that has arrived. */
  flush(): void {
    this.#skipTo(this.#end);
  }

  #skipTo(count: number): void {
    let lost = 0;
    const end = Math.min(count, this.#end);
    for (; this.#next < end; this.#next += 1) {
      const packet = this.#held.get(this.#next);
      if (!packet) {
        lost += 1;
        continue;
      }
      this.#deliverLost(lost);
      lost = 0;
      this.#deliver(packet);
    }
    this.#deliverLost(lost + count - this.#next);
    this.#next = count;
    this.#end = Math.max(this.#end, count);
    this.#remove({ first: Number.NEGATIVE_INFINITY, last: count - 1 });
    this.#deliverHeld();
  }

  #deliverHeld(): void {
    for (let packet = this.#held.get(this.#next); packet; packet = this.#held.get(this.#next)) {
      this.#deliver(packet);
      this.#next += 1;
    }
  }

  #deliver(packet: HeldPacket): void {
    this.#held.delete(this.#next);
    this.#deliveries.push({ payload: packet.payload });
  }

  #deliverLost(lost: number): void {
    if (lost > 0) this.#deliveries.push({ lost });
  }

  /** From the missing ones. */
  #remove({ first, last }: PacketRange): void {
    const at = this.#missing.findIndex((range) => range.last >= first);
    if (at === -1 || this.#missing[at]!.first > last) return;
    this.#missing = this.#missing.flatMap((range) => {
      if (range.last < first || range.first > last) return [range];
      const before = range.first < first ? [{ first: range.first, last: first - 1 }] : [];
      const after = range.last > last ? [{ first: last + 1, last: range.last }] : [];
      return [...before, ...after];
    });
  }
}
