import type Hls from 'hls.js';

/** Closer to the edge, hls.js catches up by itself: it plays slightly faster. */
const NEAR_SECONDS = 5;
/** Media elements round times down. */
const ROUNDING_SECONDS = 0.01;

/**
 * Where a live stream is, and whether the viewer wants to be there. A viewer who neither paused nor
 * went back follows the edge: after an interruption, playback goes on there.
 */
export class LiveEdge {
  readonly #video: HTMLVideoElement;
  readonly #hls: Hls | undefined;
  #isFollowing: boolean;

  /** @param isFollowing playback begins at the edge */
  constructor(video: HTMLVideoElement, hls: Hls | undefined, isFollowing: boolean) {
    this.#video = video;
    this.#hls = hls;
    this.#isFollowing = isFollowing;
    video.addEventListener('pause', () => this.leave());
  }

  /** False before the first playlist, and after the end. */
  get isLive(): boolean {
    return this.#video.duration === Number.POSITIVE_INFINITY;
  }

  /** The first second that can be played. */
  get start(): number {
    const { seekable } = this.#video;
    // Where frames are reordered, hls.js takes the first one for a later one, and never loads what
    // is before it.
    const loadable = (this.#hls?.latestLevelDetails?.fragmentStart ?? 0) + ROUNDING_SECONDS;
    return Math.max(seekable.length > 0 ? seekable.start(0) : 0, loadable);
  }

  /** The time of media that is shown to those who follow. */
  get end(): number {
    const { seekable, currentTime } = this.#video;
    const last = seekable.length > 0 ? seekable.end(seekable.length - 1) : currentTime;
    return Math.max(this.#hls?.liveSyncPosition ?? last, currentTime);
  }

  /** Seconds behind the edge; 0 for what hls.js makes up for. */
  get secondsBehind(): number {
    const seconds = this.end - this.#video.currentTime;
    return seconds > NEAR_SECONDS ? seconds : 0;
  }

  /** Plays what is live now. */
  go(): void {
    this.#isFollowing = true;
    if (this.secondsBehind > 0) this.#video.currentTime = this.end;
    this.#video.play().catch(() => undefined);
  }

  /** The viewer pauses, or goes back. */
  leave(): void {
    this.#isFollowing = false;
  }

  /** Keeps those at the edge who follow it; call it from time to time. */
  follow(): void {
    if (!this.isLive || this.#video.paused) return;
    if (this.secondsBehind === 0) this.#isFollowing = true;
    else if (this.#isFollowing && !this.#video.seeking) this.#video.currentTime = this.end;
  }
}
