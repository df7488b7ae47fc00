import { NOMINAL_RATES } from '../source/frames.js';
import type { Rational } from '../source/source-facts.js';

/** Ticks per second of live video. */
export const LIVE_TIMESCALE = 90_000;
export const TICKS_PER_MS = LIVE_TIMESCALE / 1000;

/** Protocols state whole milliseconds, some rounded and some cut off. */
const TOLERANCE_MS = 1.001;
/** How far a common rate may be from a declared one, which is often a rounded decimal. */
const SAME_RATE = 0.0002;
const MAX_RATE = 240;
/** After this many frames, the rate is measured unless the declared one fits. */
const MEASURED_FRAMES = 48;

/** The rate as a fraction; undefined for one that no encoder has. */
export const toFrameRate = (framesPerSecond: number): Rational | undefined => {
  if (!(framesPerSecond >= 1 && framesPerSecond <= MAX_RATE)) return undefined;
  const distance = ({ num, den }: Rational): number => Math.abs(framesPerSecond / (num / den) - 1);
  const nearest = NOMINAL_RATES.reduce((best, rate) => (distance(rate) < distance(best) ? rate : best));
  return distance(nearest) <= SAME_RATE ? nearest : { num: Math.round(framesPerSecond * 1000), den: 1000 };
};

/**
 * Turns times in whole milliseconds into the times that the encoder meant. A time within a
 * millisecond of a multiple of the frame duration is that multiple. Any other time is taken as it
 * is, and the multiples are counted from it: so frames follow the encoder's clock even if its rate
 * is slightly off, and audio stays in sync.
 */
export class FrameGrid {
  #rate: Rational | undefined;
  #anchorMs = 0;
  #anchorTicks = 0;
  #frames = 0;
  #misses = 0;
  #isMeasured = false;
  #lastMs = 0;

  /** The declared rate, if any. */
  constructor(rate: Rational | undefined) {
    this.#rate = rate;
  }

  get rate(): Rational | undefined {
    return this.#rate;
  }

  /** Usual duration of a frame. */
  get frameTicks(): number {
    const { num, den } = this.#rate ?? { num: 30, den: 1 };
    return (LIVE_TIMESCALE * den) / num;
  }

  /** Ticks of the decode time `ms`, both counted from the first frame, which has the time 0. */
  next(ms: number): number {
    const snapped = this.#snap(ms);
    this.#frames += 1;
    this.#lastMs = ms;
    if (snapped === undefined) this.#misses += 1;
    const ticks = snapped ?? this.#raw(ms);
    if (snapped === undefined) [this.#anchorMs, this.#anchorTicks] = [ms, ticks];
    if (!this.#isMeasured && this.#frames > MEASURED_FRAMES) this.#measure(ticks);
    return ticks;
  }

  /** The same for a presentation time; the grid stays as it is. */
  at(ms: number): number {
    return this.#snap(ms) ?? this.#raw(ms);
  }

  #raw(ms: number): number {
    return this.#anchorTicks + Math.round((ms - this.#anchorMs) * TICKS_PER_MS);
  }

  #snap(ms: number): number | undefined {
    if (!this.#rate) return undefined;
    const { num, den } = this.#rate;
    const frameMs = (1000 * den) / num;
    const frames = Math.round((ms - this.#anchorMs) / frameMs);
    const distance = ms - this.#anchorMs - frames * frameMs;
    if (Math.abs(distance) > TOLERANCE_MS) return undefined;
    return this.#anchorTicks + Math.round((frames * LIVE_TIMESCALE * den) / num);
  }

  /** Replaces a rate that did not fit, once. */
  #measure(ticks: number): void {
    this.#isMeasured = true;
    if (this.#rate && this.#misses <= this.#frames / 4) return;
    const measured = ((this.#frames - 1) * 1000) / this.#lastMs;
    const distance = ({ num, den }: Rational): number => Math.abs(measured / (num / den) - 1);
    const nearest = NOMINAL_RATES.reduce((best, rate) => (distance(rate) < distance(best) ? rate : best));
    this.#rate = distance(nearest) <= TOLERANCE_MS / this.#lastMs + SAME_RATE ? nearest : undefined;
    [this.#anchorMs, this.#anchorTicks] = [this.#lastMs, ticks];
  }
}
