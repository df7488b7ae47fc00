import type { ViewRange } from '../../db/schema.js';
import { findSpots, smoothRates } from '../../domain/usage/engagement-spots.js';

const BUCKET_MS = 1000;
const [MIN_BUCKETS, MAX_BUCKETS] = [10, 1000];

/** A bucket per second of media time; at least 10 and at most 1000. */
export const countBuckets = (durationMs: number): number =>
  Math.min(Math.max(Math.ceil(durationMs / BUCKET_MS), MIN_BUCKETS), MAX_BUCKETS);

/** Adds up which parts of a video views played. */
export class Heatmap {
  /** Views that played something. */
  views = 0;
  readonly #durationMs: number;
  readonly #bucketMs: number;
  /** Media time that was played, by bucket. */
  readonly #playedMs: number[];

  constructor(durationMs: number) {
    const count = countBuckets(durationMs);
    this.#durationMs = durationMs;
    this.#bucketMs = durationMs / count;
    this.#playedMs = Array.from({ length: count }, () => 0);
  }

  /** What was played twice counts twice; what is outside of the video does not count. */
  add(ranges: readonly ViewRange[]): void {
    let plays = false;
    for (const [start, end] of ranges) {
      const from = Math.max(start, 0);
      const to = Math.min(end, this.#durationMs);
      if (!(to > from)) continue;
      plays = true;
      const last = Math.min(Math.ceil(to / this.#bucketMs), this.#playedMs.length);
      for (let at = Math.floor(from / this.#bucketMs); at < last; at += 1) {
        const bucketStart = at * this.#bucketMs;
        const played = Math.min(to, bucketStart + this.#bucketMs) - Math.max(from, bucketStart);
        this.#playedMs[at]! += Math.max(played, 0);
      }
    }
    if (plays) this.views += 1;
  }

  /** How often each bucket was played, for each view: 1 when every view played all of it once. */
  values(): number[] {
    const wholeMs = this.views * this.#bucketMs;
    return this.#playedMs.map((playedMs) => (wholeMs > 0 ? Math.round((playedMs / wholeMs) * 1e4) / 1e4 : 0));
  }
}

export interface Hotspot {
  readonly start_ms: number;
  /** Exclusive. */
  readonly end_ms: number;
  /** From 0 to 1. */
  readonly score: number;
}

/**
 * The parts of a video that stand out: with `desc` those that views play most, with `asc` those
 * that they play least.
 */
export const findHotspots = (values: readonly number[], durationMs: number, order: 'asc' | 'desc'): Hotspot[] => {
  const bucketMs = durationMs / values.length;
  const direction = order === 'desc' ? -1 : 1;
  return findSpots(smoothRates(values), order === 'desc' ? 'hot' : 'cold')
    .map(({ first, last, score }) => ({
      start_ms: Math.round(first * bucketMs),
      end_ms: Math.round((last + 1) * bucketMs),
      score: Math.round(score * 1e4) / 1e4,
    }))
    .sort((a, b) => direction * (a.score - b.score) || a.start_ms - b.start_ms);
};
