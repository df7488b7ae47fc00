import type { Clock } from '../lib/clock.js';
import { KinoraError } from '../lib/errors.js';

/** Limits how often viewers' requests can run a source that crashes media processes. */
export interface CrashQuarantine {
  count(source: string, segment: string): void;
  /** @throws KinoraError `media_crashed` while the segment, or too many segments of its source, are in quarantine */
  check(source: string, segment: string): void;
}

const MAX_SEGMENT_CRASHES = 2;
/**
 * One damaged spot must not make the rest of a film unavailable, although it crashes a segment of every rendition and
 * of the audio.
 */
const MAX_SOURCE_CRASHES = 20;
const QUARANTINE_MS = 5 * 60_000;

export const createCrashQuarantine = (clock: Clock): CrashQuarantine => {
  const crashes = new Map<string, { count: number; untilMs: number }>();
  const segmentKey = (source: string, segment: string): string => `${source} ${segment}`;
  const add = (key: string): void => {
    crashes.set(key, { count: (crashes.get(key)?.count ?? 0) + 1, untilMs: clock.monotonicMs() + QUARANTINE_MS });
  };
  const refuse = (key: string, limit: number): void => {
    const known = crashes.get(key);
    if (!known || known.count < limit || known.untilMs <= clock.monotonicMs()) return;
    throw new KinoraError('media_crashed', { details: { file: key, reason: 'crashed repeatedly', ...known } });
  };
  return {
    count(source, segment) {
      const nowMs = clock.monotonicMs();
      for (const [key, { untilMs }] of crashes) if (untilMs <= nowMs) crashes.delete(key);
      add(source);
      add(segmentKey(source, segment));
    },
    check(source, segment) {
      refuse(source, MAX_SOURCE_CRASHES);
      refuse(segmentKey(source, segment), MAX_SEGMENT_CRASHES);
    },
  };
};
