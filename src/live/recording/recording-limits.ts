import type { Clock } from '../../lib/clock.js';
import type { PartRecord } from '../../media/live/recording-format.js';

/** Of each track. */
const MAX_CONFIGS = 100;
const MAX_SEGMENT_BYTES = 512 * 2 ** 20;
const MAX_PARTS = 500;
/** Segments that may be cut at once, and in each second. */
const SPARE_SEGMENTS = 240;
const SEGMENTS_PER_SECOND = 4;

/**
 * What no encoder needs, and what would grow in memory without end: segments that never end, more
 * of them than real time brings, one configuration after the other.
 */
export class RecordingLimits {
  readonly #clock: Clock;
  readonly #firstSegment: number;
  readonly #sinceMs: number;

  /** @param firstSegment the number of the next segment */
  constructor(clock: Clock, firstSegment: number) {
    this.#clock = clock;
    this.#firstSegment = firstSegment;
    this.#sinceMs = clock.monotonicMs();
  }

  allowsConfig(number: number): boolean {
    return number < MAX_CONFIGS;
  }

  allowsPart({ segment, part }: Pick<PartRecord, 'segment' | 'part'>, segmentBytes: number): boolean {
    const seconds = (this.#clock.monotonicMs() - this.#sinceMs) / 1000;
    const mostSegments = SPARE_SEGMENTS + seconds * SEGMENTS_PER_SECOND;
    return segment - this.#firstSegment < mostSegments && part < MAX_PARTS && segmentBytes <= MAX_SEGMENT_BYTES;
  }
}
