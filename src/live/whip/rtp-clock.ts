/** A sender report relates the times of a stream to the sender's wall clock (RFC 3550, 6.4.1). */
export interface SenderTime {
  readonly timestamp: number;
  /** NTP timestamp, 32 bits of seconds and 32 of their fraction. */
  readonly ntp: bigint;
}

const WRAP = 2 ** 32;

/** Ticks and milliseconds of the same moment. */
interface Anchor {
  readonly ticks: number;
  readonly ms: number;
}

/** The times of one RTP stream in milliseconds. */
export class RtpClock {
  readonly #rate: number;
  #arrival: Anchor | undefined;
  #report: Anchor | undefined;
  #last: number | undefined;

  constructor(rate: number) {
    this.#rate = rate;
  }

  get hasReport(): boolean {
    return this.#report !== undefined;
  }

  /** Only the first report counts: later ones would move what was sent already. */
  report({ timestamp, ntp }: SenderTime): void {
    const seconds = Number(ntp >> 32n) + Number(ntp & 0xffffffffn) / WRAP;
    this.#report ??= { ticks: this.unwrap(timestamp), ms: seconds * 1000 };
  }

  arrive(timestamp: number, nowMs: number): void {
    this.#arrival ??= { ticks: this.unwrap(timestamp), ms: nowMs };
  }

  /** The timestamp without its wrap at 32 bits. */
  unwrap(timestamp: number): number {
    const last = this.#last ?? timestamp;
    const ticks = last + (((timestamp - (last % WRAP) + WRAP * 1.5) % WRAP) - WRAP / 2);
    this.#last = ticks;
    return ticks;
  }

  /** By the sender's clock, or without its report as if the first packet had not been delayed. */
  msOf(ticks: number, isReported: boolean): number {
    const { ticks: atTicks, ms } = (isReported ? this.#report : this.#arrival)!;
    return ms + ((ticks - atTicks) * 1000) / this.#rate;
  }
}
