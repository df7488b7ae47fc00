import { formatProgress, formatTime } from './format-time.js';
import type { LiveEdge } from './live-edge.js';

/** What the time slider covers: the video, or what can be played of a live stream. */
export class Timeline {
  readonly #video: HTMLVideoElement;
  readonly #edge: LiveEdge | undefined;

  constructor(video: HTMLVideoElement, edge: LiveEdge | undefined) {
    this.#video = video;
    this.#edge = edge;
  }

  get start(): number {
    return this.#live?.start ?? 0;
  }

  /** 0 while it is unknown. */
  get end(): number {
    const { duration } = this.#video;
    return this.#live?.end ?? (Number.isFinite(duration) ? duration : 0);
  }

  seek(seconds: number): void {
    this.#edge?.leave();
    this.#video.currentTime = Math.max(this.start, Math.min(seconds, this.end));
  }

  /** A time as the slider names it. */
  label(seconds: number): string {
    return this.#live ? `−${formatTime(Math.max(0, this.end - seconds))}` : formatTime(seconds);
  }

  /** The time of playback, and how it is read out. */
  describe(): readonly [shown: string, spoken: string] {
    const live = this.#live;
    if (!live) {
      const [at, all] = formatProgress(this.#video.currentTime, this.end);
      return [`${at} / ${all}`, `${at} of ${all}`];
    }
    const behind = live.secondsBehind;
    return behind === 0 ? ['', 'Live'] : [`−${formatTime(behind)}`, `${formatTime(behind)} behind live`];
  }

  get #live(): LiveEdge | undefined {
    return this.#edge?.isLive ? this.#edge : undefined;
  }
}
