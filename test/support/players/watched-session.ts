/**
 * A page that plays, and what its video did: the times at which the browser told it, by code that
 * knows nothing of what the page reports.
 */
import type { Page } from 'playwright-core';

export interface MediaEvent {
  readonly type: string;
  /** Milliseconds since 1970. */
  readonly timeMs: number;
  readonly playheadMs: number;
  /** Of the decoded picture. */
  readonly width: number;
}

/** From and to, in milliseconds. */
export type Span = readonly [from: number, to: number];

export interface Session {
  readonly events: readonly MediaEvent[];
  /** When the playhead stood still although it should have moved; at least 150 ms each. */
  readonly halts: readonly Span[];
  /** Media time that was played, in the order of playing. */
  readonly ranges: readonly Span[];
  /**
   * How late the timers of the page were, in total: what the page tells of that time is as
   * imprecise.
   */
  readonly lateMs: number;
  readonly droppedFrames: number;
}

declare global {
  interface Window {
    /** The first video of the page if it is not set. */
    watchedVideo?: HTMLVideoElement;
    recordedSession: { events: MediaEvent[]; halts: [number, number][]; ranges: [number, number][]; lateMs: number };
  }
}

/** Notes what the page's video does from now on. Call it before playback is requested. */
export const recordSession = (page: Page): Promise<void> =>
  page.evaluate(() => {
    const video = window.watchedVideo ?? document.querySelector('video')!;
    window.watchedVideo = video;
    const events: MediaEvent[] = [];
    const halts: [number, number][] = [];
    const ranges: [number, number][] = [];
    const session = { events, halts, ranges, lateMs: 0 };
    window.recordedSession = session;
    const playheadMs = (): number => Math.round(video.currentTime * 1000);
    let isPlaying = false;
    // The playhead, the time since which it stands there, and the last time that it was seen there.
    let [standsAt, sinceMs, seenMs] = [0, 0, 0];
    const arrive = (): void => {
      if (isPlaying && seenMs - sinceMs >= 150) halts.push([sinceMs, seenMs]);
      [standsAt, sinceMs, seenMs] = [playheadMs(), Date.now(), Date.now()];
    };
    const note = ({ type }: Event): void => {
      events.push({ type, timeMs: Date.now(), playheadMs: playheadMs(), width: video.videoWidth });
      if (type !== 'playing' && type !== 'pause' && type !== 'seeking') return;
      if (type === 'pause' && isPlaying) ranges.at(-1)![1] = playheadMs();
      arrive();
      const goesOn = type === 'playing';
      if (goesOn && !isPlaying) ranges.push([standsAt, standsAt]);
      isPlaying = goesOn;
    };
    // A page may show the first frame before.
    if (video.videoWidth > 0) note(new Event('resize'));
    for (const type of ['play', 'playing', 'pause', 'waiting', 'seeking', 'seeked', 'resize', 'ended', 'error'])
      video.addEventListener(type, note);
    let lastMs = Date.now();
    setInterval(() => {
      const nowMs = Date.now();
      session.lateMs += Math.max(nowMs - lastMs - 50, 0);
      lastMs = nowMs;
      if (!isPlaying || video.seeking) return;
      if (playheadMs() === standsAt) seenMs = Date.now();
      else {
        arrive();
        ranges.at(-1)![1] = standsAt;
      }
    }, 25);
  });

/** What was noted so far. */
export const readSession = (page: Page): Promise<Session> =>
  page.evaluate(() => ({
    ...window.recordedSession,
    droppedFrames: window.watchedVideo!.getVideoPlaybackQuality().droppedVideoFrames,
  }));

/** Sums up the times from each `from` to the next of `to`. */
export const timeBetween = (events: readonly MediaEvent[], from: string, to: readonly string[]): number => {
  let sum = 0;
  let since: number | undefined;
  for (const { type, timeMs } of events) {
    if (type === from) since ??= timeMs;
    else if (since !== undefined && to.includes(type)) {
      sum += timeMs - since;
      since = undefined;
    }
  }
  return sum;
};
