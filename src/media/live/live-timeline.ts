import { AAC_FRAME_SAMPLES } from '../codecs/aac.js';
import type { Rational } from '../source/source-facts.js';
import { FrameGrid, LIVE_TIMESCALE, TICKS_PER_MS } from './frame-grid.js';

/**
 * Puts what encoders send on one timeline, which begins at 0 with the first frame and has no gaps
 * where the encoder's clock jumps or another session begins: the new times are joined to the end of
 * both tracks.
 */

/** A time that goes back by less is a fault of the encoder; it is moved up. */
const MAX_BACK_MS = 100;
/** A longer step forward is a jump of the clock, unless the other track has made it as well. */
const MAX_FORWARD_MS = 3000;
/** Audio is counted in samples, and moved only when the count and the clock differ by more. */
const MAX_DRIFT_MS = 40;

/** From an encoder's milliseconds to ticks. A jump of the clock starts another one. */
interface Run {
  readonly originMs: number;
  /** In ticks of video. */
  readonly originTicks: number;
}

export interface TimedVideo {
  /** Ticks of `LIVE_TIMESCALE`; both times of a session's first frame are equal. */
  readonly decodeTicks: number;
  readonly presentationTicks: number;
  /** Composition offset that the encoder stated, on the grid. */
  readonly delayTicks: number;
  /** The time does not continue that of the frame before. */
  readonly isJoined: boolean;
}

export interface TimedAudio {
  /** In ticks of the track. */
  readonly startTicks: number;
  readonly durationTicks: number;
  readonly isJoined: boolean;
}

interface VideoState {
  readonly run: Run;
  readonly grid: FrameGrid;
  readonly firstDtsMs: number;
  readonly firstPtsMs: number;
  /** Ticks of the first frame. */
  readonly firstTicks: number;
  lastMs: number;
  lastTicks: number;
}

interface AudioState {
  readonly run: Run;
  lastMs: number;
  /** Frames are counted from this time. */
  anchorTicks: number;
  frames: number;
}

export class LiveTimeline {
  /** Ticks per second of the audio track: the sample rate of its first configuration. */
  #audioTimescale: number | undefined;
  #audioRate = 0;
  #frameRate: Rational | undefined;
  #run: Run | undefined;
  #video: VideoState | undefined;
  #audio: AudioState | undefined;
  #videoEndTicks = 0;
  /** In ticks of audio. */
  #audioEndTicks = 0;

  /** Continues after `end`, which is that of a recording. */
  constructor(end?: { readonly videoTicks: number; readonly audioTicks: number; readonly audioTimescale?: number }) {
    this.#videoEndTicks = end?.videoTicks ?? 0;
    this.#audioEndTicks = end?.audioTicks ?? 0;
    this.#audioTimescale = end?.audioTimescale;
  }

  get audioTimescale(): number | undefined {
    return this.#audioTimescale;
  }

  /** The measured or declared rate. */
  get frameRate(): Rational | undefined {
    return this.#video?.grid.rate ?? this.#frameRate;
  }

  /** Usual duration of a frame. */
  get frameTicks(): number {
    return this.#video?.grid.frameTicks ?? LIVE_TIMESCALE / 30;
  }

  /** Whether the session has a frame that others are timed by. */
  get isRunning(): boolean {
    return this.#run !== undefined;
  }

  /** Where the next session begins: the end of both tracks. */
  get endTicks(): number {
    const audio = this.#audioTimescale ? (this.#audioEndTicks * LIVE_TIMESCALE) / this.#audioTimescale : 0;
    return Math.ceil(Math.max(this.#videoEndTicks, audio) - 1e-6);
  }

  beginSession(): void {
    this.#run = undefined;
    this.#video = undefined;
    this.#audio = undefined;
    this.#frameRate = undefined;
  }

  /** Applies from the next session or jump on. */
  setFrameRate(rate: Rational | undefined): void {
    this.#frameRate = rate;
  }

  setAudioRate(sampleRate: number): void {
    this.#audioTimescale ??= sampleRate;
    if (this.#audioRate !== sampleRate && this.#audio) this.#restartCount(this.#audio);
    this.#audioRate = sampleRate;
  }

  /** Undefined for a frame that precedes the start of the session. */
  video(dtsMs: number, compositionMs: number): TimedVideo | undefined {
    const ptsMs = dtsMs + compositionMs;
    const last = this.#video;
    const run = this.#runOf(dtsMs, ptsMs, last, this.#audio?.lastMs);
    let video = last;
    if (!video || video.run !== run) {
      const firstTicks = run.originTicks + Math.round((ptsMs - run.originMs) * TICKS_PER_MS);
      if (firstTicks < run.originTicks) return undefined;
      video = {
        run,
        grid: new FrameGrid(last?.grid.rate ?? this.#frameRate),
        firstDtsMs: dtsMs,
        firstPtsMs: ptsMs,
        firstTicks: Math.max(firstTicks, this.#videoEndTicks),
        lastMs: dtsMs,
        lastTicks: -1,
      };
      this.#video = video;
    }
    const { grid, firstTicks } = video;
    const isGap = dtsMs - video.lastMs > MAX_FORWARD_MS;
    const statedTicks = firstTicks + grid.next(dtsMs - video.firstDtsMs);
    const decodeTicks = Math.max(statedTicks, video.lastTicks + 1);
    // What is moved up is shown later as well: a time that was used already would hide a frame.
    const presentationTicks = firstTicks + grid.at(ptsMs - video.firstPtsMs) + decodeTicks - statedTicks;
    video.lastMs = dtsMs;
    video.lastTicks = decodeTicks;
    // A session that ends within a GOP may lack frames that are shown before its last one.
    const endTicks = Math.max(decodeTicks, presentationTicks) + Math.round(grid.frameTicks);
    this.#videoEndTicks = Math.max(this.#videoEndTicks, endTicks);
    return {
      decodeTicks,
      presentationTicks,
      delayTicks: this.#snapDelay(grid, compositionMs),
      isJoined: last?.run !== run || isGap,
    };
  }

  /** Undefined for a frame that overlaps the one before, or precedes the start of the session. */
  audio(ms: number): TimedAudio | undefined {
    const timescale = this.#audioTimescale!;
    const last = this.#audio;
    const run = this.#runOf(ms, ms, last, this.#video?.lastMs);
    const clock = run.originTicks + (ms - run.originMs) * TICKS_PER_MS;
    const clockTicks = Math.round((clock * timescale) / LIVE_TIMESCALE);
    let audio = last;
    if (!audio || audio.run !== run) {
      if (ms < run.originMs || clockTicks < this.#audioEndTicks - 1) return undefined;
      audio = { run, lastMs: ms, anchorTicks: Math.max(clockTicks, this.#audioEndTicks), frames: 0 };
      this.#audio = audio;
    }
    audio.lastMs = ms;
    const driftTicks = clockTicks - this.#audioTicks(audio, audio.frames);
    if (Math.abs(driftTicks) * 1000 > MAX_DRIFT_MS * timescale) {
      if (driftTicks < 0) return undefined;
      [audio.anchorTicks, audio.frames] = [clockTicks, 0];
    }
    const startTicks = this.#audioTicks(audio, audio.frames);
    audio.frames += 1;
    this.#audioEndTicks = this.#audioTicks(audio, audio.frames);
    return { startTicks, durationTicks: this.#audioEndTicks - startTicks, isJoined: last?.run !== run };
  }

  /** The start of frame `frame` since the anchor. */
  #audioTicks({ anchorTicks }: AudioState, frame: number): number {
    const samples = frame * AAC_FRAME_SAMPLES;
    return anchorTicks + Math.round((samples * this.#audioTimescale!) / this.#audioRate);
  }

  #restartCount(audio: AudioState): void {
    audio.anchorTicks = this.#audioTicks(audio, audio.frames);
    audio.frames = 0;
  }

  #snapDelay(grid: FrameGrid, compositionMs: number): number {
    if (!grid.rate) return Math.round(compositionMs * TICKS_PER_MS);
    const frames = Math.round((compositionMs * TICKS_PER_MS) / grid.frameTicks);
    const isOnGrid = Math.abs(frames * grid.frameTicks - compositionMs * TICKS_PER_MS) <= 2 * TICKS_PER_MS;
    return Math.round(isOnGrid ? frames * grid.frameTicks : compositionMs * TICKS_PER_MS);
  }

  #runOf(
    ms: number,
    presentationMs: number,
    last: { readonly run: Run; readonly lastMs: number } | undefined,
    otherMs: number | undefined,
  ): Run {
    const isNear = (to: number): boolean => ms >= to - MAX_BACK_MS && ms <= to + MAX_FORWARD_MS;
    const current = this.#run;
    if (current && !last) return current;
    if (current && last) {
      if (isNear(last.lastMs)) return last.run;
      // The other track has made the jump already, or goes on while this one had a gap.
      const isShared = otherMs !== undefined && Math.abs(ms - otherMs) <= MAX_FORWARD_MS;
      if (isShared && (last.run !== current || ms > last.lastMs)) return current;
    }
    this.#run = { originMs: presentationMs, originTicks: this.endTicks };
    return this.#run;
  }
}
