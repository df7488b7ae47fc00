import type { ViewRange } from '../../db/schema.js';
import { countBuckets, Heatmap } from './heatmap.js';

export interface RetentionPoint {
  /** Where the part starts, in milliseconds. */
  readonly timeMs: number;
  /** The share of the views that played some of it. */
  readonly watching: number;
  /** How often views played it on average. */
  readonly plays: number;
}

/** How many views still watch at each time of a video: a part per second, at most 1000. */
export class Retention {
  readonly heatmap: Heatmap;
  readonly #bucketMs: number;
  readonly #watching: number[];

  constructor(durationMs: number) {
    const count = countBuckets(durationMs);
    this.heatmap = new Heatmap(durationMs);
    this.#bucketMs = durationMs / count;
    this.#watching = Array.from({ length: count }, () => 0);
  }

  /** Adds what one view played. */
  add(ranges: readonly ViewRange[]): void {
    this.heatmap.add(ranges);
    const played = new Set<number>();
    for (const [start, end] of ranges) {
      const last = Math.min(Math.ceil(end / this.#bucketMs), this.#watching.length);
      for (let at = Math.floor(Math.max(start, 0) / this.#bucketMs); at < last; at += 1) played.add(at);
    }
    for (const at of played) this.#watching[at]! += 1;
  }

  points(): RetentionPoint[] {
    const views = Math.max(this.heatmap.views, 1);
    return this.heatmap.values().map((plays, at) => ({
      timeMs: Math.round(at * this.#bucketMs),
      watching: Math.round((this.#watching[at]! / views) * 1e4) / 1e4,
      plays,
    }));
  }
}
