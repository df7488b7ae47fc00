import type { Row, ViewEvent } from '../../db/schema.js';

/** What a viewer is doing. `ended` is the end of the video; the view may go on. */
export type ViewState = 'starting' | 'playing' | 'paused' | 'rebuffering' | 'failed' | 'ended';

/** What a timeline is made of. */
export type TimedView = Pick<
  Row<'video_view'>,
  'started_at' | 'seen_at' | 'ended_at' | 'is_startup_failure' | 'is_playback_failure' | 'video_startup_time' | 'events'
>;

/**
 * A state from `fromMs` to `toMs` (exclusive), in milliseconds since 1970 by the server's clock.
 */
export interface StateSpan {
  readonly state: ViewState;
  readonly fromMs: number;
  readonly toMs: number;
}

/** One view over time. */
export interface ViewTimeline {
  /** In order, without gaps. */
  readonly spans: readonly StateSpan[];
  /** When the first frame was displayed; undefined until then. */
  readonly firstFrameMs: number | undefined;
  /** What went wrong, and when. An exit is the end of a view before its first frame. */
  readonly problem:
    | { readonly kind: 'startup failure' | 'playback failure' | 'exit'; readonly atMs: number }
    | undefined;
  /** Bits per second from a time on, in order; empty when no event says it. */
  readonly bitrates: readonly (readonly [fromMs: number, bitsPerSecond: number])[];
}

type Step = readonly [name: string, atMs: number, details: ViewEvent[3]];

/**
 * The events at the server's times. The clock of a player may be wrong by any amount, but not the
 * time between its events: the first one is put at the start of the view, and none is after the
 * last report.
 */
const stepsOf = ({ started_at, seen_at, ended_at, events }: TimedView): Step[] => {
  const startMs = started_at.getTime();
  const lastMs = Math.max((ended_at ?? seen_at).getTime(), startMs);
  const shiftMs = startMs - (events[0]?.[1] ?? startMs);
  let atMs = startMs;
  return events.map(([name, timeMs, , details]) => {
    atMs = Math.min(Math.max(timeMs + shiftMs, atMs), lastMs);
    return [name, atMs, details];
  });
};

/** The state after an event. */
const stateAfter = (state: ViewState, name: string, hasStarted: boolean): ViewState => {
  switch (name) {
    case 'viewstart':
    case 'play':
      return hasStarted ? state : 'starting';
    case 'playing':
      return 'playing';
    case 'pause':
      return state === 'ended' ? state : 'paused';
    case 'rebufferstart':
      return hasStarted ? 'rebuffering' : state;
    case 'rebufferend':
      return state === 'rebuffering' ? 'playing' : state;
    case 'ended':
      return 'ended';
    default:
      return state;
  }
};

const bitrateOf = (details: ViewEvent[3]): number | undefined => {
  const bitrate = details?.video_source_bitrate;
  return typeof bitrate === 'number' && bitrate > 0 ? bitrate : undefined;
};

/**
 * What a view was doing, from its start to its end, or to `nowMs` while it has none. Whether an
 * error ended it is what its row says: players report others too.
 */
export const viewTimeline = (view: TimedView, nowMs: number): ViewTimeline => {
  const startMs = view.started_at.getTime();
  const endMs = Math.max(view.ended_at?.getTime() ?? nowMs, startMs);
  const steps = stepsOf(view);
  const firstFrameMs = steps.find(([name]) => name === 'playing')?.[1];
  const problem = problemOf(view, steps, firstFrameMs);
  const bitrates: (readonly [number, number])[] = [];
  const spans: StateSpan[] = [];
  let state = 'starting' as ViewState;
  let fromMs = startMs;
  const enter = (next: ViewState, atMs: number): void => {
    if (next === state) return;
    if (atMs > fromMs) spans.push({ state, fromMs, toMs: atMs });
    [state, fromMs] = [next, atMs];
  };
  let hasStarted = false;
  for (const [name, atMs, details] of steps) {
    const bitrate = bitrateOf(details);
    if (bitrate !== undefined) bitrates.push([atMs, bitrate]);
    if (state === 'failed') continue;
    hasStarted ||= name === 'playing';
    const fails = name === 'error' && problem !== undefined && atMs === problem.atMs;
    enter(fails ? 'failed' : stateAfter(state, name, hasStarted), atMs);
  }
  if (endMs > fromMs) spans.push({ state, fromMs, toMs: endMs });
  return { spans, firstFrameMs, problem, bitrates };
};

const problemOf = (
  { ended_at, seen_at, is_startup_failure, is_playback_failure, video_startup_time }: TimedView,
  steps: readonly Step[],
  firstFrameMs: number | undefined,
): ViewTimeline['problem'] => {
  if (is_startup_failure || is_playback_failure) {
    const isAfter = (atMs: number): boolean => is_startup_failure || firstFrameMs === undefined || atMs >= firstFrameMs;
    const error = steps.find(([name, atMs]) => name === 'error' && isAfter(atMs));
    const kind = is_startup_failure ? 'startup failure' : 'playback failure';
    return { kind, atMs: error?.[1] ?? (ended_at ?? seen_at).getTime() };
  }
  // The events of a view are bounded, so that of the first frame may be missing.
  const hasStarted = firstFrameMs !== undefined || video_startup_time !== null;
  if (ended_at && !hasStarted) return { kind: 'exit', atMs: ended_at.getTime() };
  return undefined;
};
