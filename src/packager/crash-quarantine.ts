import type { Clock } from '../lib/clock.js';
import { KinoraError } from '../lib/errors.js';

const MAX_SEGMENT_CRASHES = 2;
/**
 * One damaged spot must not make the rest of a film unavailable, although it crashes a segment of
 * every rendition and of the audio.
 */
const MAX_SOURCE_CRASHES = 20;
const QUARANTINE_MS = 5 * 60_000;

/** Limits how often viewers' requests can run a source that crashes media processes. */
export class CrashQuarantine {
  private readonly crashes = new Map<string, { count: number; untilMs: number }>();

  constructor(private readonly clock: Clock) {}

  count(source: string, segment: string): void {
    const nowMs = this.clock.monotonicMs();
    for (const [key, { untilMs }] of this.crashes) if (untilMs <= nowMs) this.crashes.delete(key);
    for (const key of [source, segmentKey(source, segment)]) {
      const count = (this.crashes.get(key)?.count ?? 0) + 1;
      this.crashes.set(key, { count, untilMs: nowMs + QUARANTINE_MS });
    }
  }

  /**
   * @throws KinoraError `media_crashed` while the segment, or too many segments of its source, are
   * in quarantine
   */
  check(source: string, segment: string): void {
    this.reject(source, MAX_SOURCE_CRASHES);
    this.reject(segmentKey(source, segment), MAX_SEGMENT_CRASHES);
  }

  private reject(key: string, limit: number): void {
    const crashes = this.crashes.get(key);
    if (!crashes || crashes.count < limit || crashes.untilMs <= this.clock.monotonicMs()) return;
    throw new KinoraError('media_crashed', { details: { file: key, reason: 'crashed repeatedly', ...crashes } });
  }
}

const segmentKey = (source: string, segment: string): string => `${source} ${segment}`;
