/** Before the first measurement, in microseconds (draft-sharabayko-srt-01, 4.10). */
const INITIAL_ROUND_TRIP_US = 100_000;
/** Older ones are not confirmed any more. */
const MAX_UNCONFIRMED = 512;
const RATE_MS = 1000;

/** Decides when to acknowledge, and measures the round trip by the confirmations. */
export class Acknowledgements {
  #roundTripUs = INITIAL_ROUND_TRIP_US;
  #varianceUs = INITIAL_ROUND_TRIP_US / 2;
  #isMeasured = false;
  #number = 0;
  /** By number. */
  readonly #unconfirmed = new Map<number, { readonly next: number; readonly sentMs: number }>();
  #confirmedNext: number;
  #lastNext: number;
  #lastMs: number;
  readonly #rate = { sinceMs: 0, packets: 0, bytes: 0, packetsPerSecond: 0, bytesPerSecond: 0 };

  constructor(next: number, nowMs: number) {
    this.#confirmedNext = next;
    this.#lastNext = next;
    this.#lastMs = nowMs;
    this.#rate.sinceMs = nowMs;
  }

  /** How often what is missing is asked for. */
  get nakIntervalMs(): number {
    return Math.max(20, (this.#roundTripUs + 4 * this.#varianceUs) / 2000);
  }

  /** A packet with media has arrived. */
  count(bytes: number, nowMs: number): void {
    const rate = this.#rate;
    rate.packets += 1;
    rate.bytes += bytes;
    const elapsedMs = nowMs - rate.sinceMs;
    if (elapsedMs < RATE_MS) return;
    rate.packetsPerSecond = (rate.packets * 1000) / elapsedMs;
    rate.bytesPerSecond = (rate.bytes * 1000) / elapsedMs;
    [rate.sinceMs, rate.packets, rate.bytes] = [nowMs, 0, 0];
  }

  /** What was acknowledged last is repeated until it is confirmed. */
  isDue(next: number, nowMs: number): boolean {
    if (next !== this.#lastNext) return true;
    const timeoutMs = (this.#roundTripUs + 4 * this.#varianceUs) / 1000;
    return next !== this.#confirmedNext && nowMs - this.#lastMs > timeoutMs;
  }

  /** @returns the number of the acknowledgement, and its content after the sequence number */
  send(next: number, freePackets: number, nowMs: number): { readonly number: number; readonly words: number[] } {
    this.#number = (this.#number + 1) >>> 0;
    this.#unconfirmed.set(this.#number, { next, sentMs: nowMs });
    const [oldest] = this.#unconfirmed.keys();
    if (this.#unconfirmed.size > MAX_UNCONFIRMED) this.#unconfirmed.delete(oldest!);
    this.#lastNext = next;
    this.#lastMs = nowMs;
    const { packetsPerSecond, bytesPerSecond } = this.#rate;
    const rates = [packetsPerSecond, packetsPerSecond, bytesPerSecond].map(Math.round);
    return {
      number: this.#number,
      words: [Math.round(this.#roundTripUs), Math.round(this.#varianceUs), Math.max(2, freePackets), ...rates],
    };
  }

  confirm(number: number, nowMs: number): void {
    const sent = this.#unconfirmed.get(number);
    if (!sent) return;
    this.#unconfirmed.delete(number);
    this.#confirmedNext = Math.max(this.#confirmedNext, sent.next);
    const sampleUs = (nowMs - sent.sentMs) * 1000;
    if (this.#isMeasured) {
      this.#varianceUs += (Math.abs(sampleUs - this.#roundTripUs) - this.#varianceUs) / 4;
      this.#roundTripUs += (sampleUs - this.#roundTripUs) / 8;
      return;
    }
    this.#isMeasured = true;
    this.#roundTripUs = sampleUs;
    this.#varianceUs = sampleUs / 2;
  }
}
