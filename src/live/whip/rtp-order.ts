/** What is needed of an RTP packet (RFC 3550, 5.1). */
export interface RtpUnit {
  readonly sequenceNumber: number;
  readonly timestamp: number;
  /** The last packet of a frame. */
  readonly marker: boolean;
  readonly payload: Buffer;
}

/** A packet that was asked for again arrives within this time, or is given up. */
const PATIENCE_MS = 250;
const MAX_HELD = 512;
const HALF = 0x8000;

/** Puts RTP packets into their order; packets that are sent again arrive late. */
export class RtpOrder {
  #next: number | undefined;
  #waitingSinceMs = 0;
  readonly #held = new Map<number, RtpUnit>();

  /** The packets that follow; `isLost` when some before them never arrived. */
  push(unit: RtpUnit, nowMs: number): { readonly units: RtpUnit[]; readonly isLost: boolean } {
    this.#next ??= unit.sequenceNumber;
    const isOld = ((unit.sequenceNumber - this.#next) & 0xffff) >= HALF;
    if (isOld) return { units: [], isLost: false };
    if (this.#held.size === 0) this.#waitingSinceMs = nowMs;
    this.#held.set(unit.sequenceNumber, unit);
    const units = this.#take();
    const isOverdue = nowMs - this.#waitingSinceMs > PATIENCE_MS || this.#held.size > MAX_HELD;
    if (units.length > 0 || !isOverdue) {
      if (units.length > 0) this.#waitingSinceMs = nowMs;
      return { units, isLost: false };
    }
    const distances = [...this.#held.keys()].map((number) => (number - this.#next!) & 0xffff);
    this.#next = (this.#next + Math.min(...distances)) & 0xffff;
    this.#waitingSinceMs = nowMs;
    return { units: this.#take(), isLost: true };
  }

  #take(): RtpUnit[] {
    const units: RtpUnit[] = [];
    for (;;) {
      const unit = this.#held.get(this.#next!);
      if (!unit) return units;
      this.#held.delete(this.#next!);
      units.push(unit);
      this.#next = (this.#next! + 1) & 0xffff;
    }
  }
}
