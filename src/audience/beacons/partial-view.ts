import type { ViewEvent, ViewRange } from '../../db/schema.js';
import { averages, MAX_EVENTS, type ViewMetric } from '../reported-values.js';

export interface ViewError {
  readonly code: string;
  readonly message: string;
  /** Playback has failed; else it is a warning. */
  readonly isFailure: boolean;
  readonly isBusinessException: boolean;
}

/**
 * What was reported of a view within some seconds. The row of the view is made of all of them,
 * whichever servers they reach. Times are milliseconds since 1970, by the clock of this server.
 */
export interface PartialView {
  /** Undefined when the player names none: that of the playback ID. */
  readonly environmentId: string | undefined;
  readonly id: string;
  /** The number of the newest event in its view. */
  sequence: number;
  /** Undefined until playback was requested. Players that only wait for that also report. */
  startedAtMs: number | undefined;
  seenAtMs: number;
  /** Set by the end of a view, until something follows it. */
  endedAtMs: number | undefined;
  playbackId: string | undefined;
  viewerId: string | undefined;
  sessionId: string | undefined;
  error: ViewError | undefined;
  readonly dimensions: Map<string, string>;
  readonly details: Map<string, string | number | boolean>;
  readonly metrics: Map<ViewMetric, number>;
  ranges: readonly ViewRange[];
  readonly events: ViewEvent[];
}

/**
 * Adds what was reported of the same view at another time. Reports may arrive out of order: their
 * numbers say which one is newer.
 */
export const mergeViews = (view: PartialView, other: PartialView): void => {
  const isNewer = other.sequence >= view.sequence;
  const [older, newer] = isNewer ? [view, other] : [other, view];
  mergeValues(view.dimensions, other.dimensions, isNewer);
  mergeValues(view.details, other.details, isNewer);
  for (const [name, value] of other.metrics) {
    const previous = view.metrics.get(name);
    if (previous === undefined || (averages.has(name) ? isNewer : value > previous)) view.metrics.set(name, value);
  }
  const newest = {
    endedAtMs: newer.endedAtMs,
    playbackId: newer.playbackId ?? older.playbackId,
    viewerId: newer.viewerId ?? older.viewerId,
    sessionId: newer.sessionId ?? older.sessionId,
    error: newer.error ?? older.error,
    ranges: newer.ranges.length > 0 ? newer.ranges : older.ranges,
    startedAtMs: earlier(view.startedAtMs, other.startedAtMs),
    seenAtMs: Math.max(view.seenAtMs, other.seenAtMs),
    sequence: Math.max(view.sequence, other.sequence),
  };
  Object.assign(view, newest);
  view.events.push(...other.events);
  // The last one may be the end of the view.
  const excess = view.events.length - MAX_EVENTS;
  if (excess > 0) view.events.splice(MAX_EVENTS - 1, excess);
};

const earlier = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);

const mergeValues = <V>(values: Map<string, V>, others: ReadonlyMap<string, V>, areNewer: boolean): void => {
  for (const [name, value] of others) {
    const replaces = name.endsWith('_initial') ? !areNewer : areNewer;
    if (replaces || !values.has(name)) values.set(name, value);
  }
};

/** About the memory that it takes, in bytes. */
export const sizeOfView = ({ dimensions, details, metrics, ranges, events }: PartialView): number => {
  let size = 500 + 40 * metrics.size + 60 * ranges.length;
  for (const [name, value] of [...dimensions, ...details]) size += 60 + name.length + 2 * String(value).length;
  for (const [, , , values] of events) size += 120 + (values ? 2 * JSON.stringify(values).length : 0);
  return size;
};
