import { setTimeout as pause } from 'node:timers/promises';
import type { LiveFeed, LiveSubtitles } from '../../domain/playback/live-feed.js';
import { childName } from '../../domain/playback/write-playlist.js';
import type { Clock } from '../../lib/clock.js';
import { createLinkedAbort } from '../../lib/linked-abort.js';
import type { LiveSegment, LiveTrackState } from '../../media/live/live-track.js';
import { makeCues } from '../../media/speech/make-cues.js';
import type { Word } from '../../media/speech/word.js';
import type { Cue } from '../../media/text/subtitles.js';
import { indexCues, textSegment } from '../../media/text/text-index.js';
import type { TextTracks } from '../../packager/text-tracks.js';
import type { Logger } from '../../telemetry/logger.js';
import { type RecognizerDeps, recognizeSegments } from './recognize-window.js';

export interface LiveSubtitlesDeps extends RecognizerDeps {
  readonly texts: Pick<TextTracks, 'store'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface SubtitlesOptions extends LiveSubtitles {
  readonly phrases: readonly string[];
  /** The recording's own tracks. */
  readonly feed: LiveFeed;
  /** The state of the track has changed. */
  readonly onChange: () => void;
}

/** Shorter ones have too little context, longer ones are too late. */
const WINDOW_SECONDS = 5;
/** A segment is listed at most this many target durations after its end. */
const MAX_LATE_TARGETS = 2;
/** A window ends early when its first segment is older: nothing follows for now. */
const MAX_WAIT_TARGETS = 1;
const WAIT_MS = 200;
/** What remains of the time of the slowest window after each that is skipped. */
const FORGOTTEN = 0.75;
/** A recognizer that is always too slow must not use a core for nothing. About a minute. */
const MAX_RESTING = 16;

interface Window {
  /** Of the track that decides where segments end. */
  readonly segments: readonly LiveSegment[];
  /** When the first of them was complete. */
  readonly sinceMs: number;
}

/**
 * Recognizes what is said in a broadcast, window by window, and serves it as a track of WebVTT with
 * the segments of the video. A window that is not recognized in time has no text: nothing piles up.
 */
export class LiveSubtitlesTrack implements LiveSubtitles {
  readonly trackId: string;
  readonly name: string;
  readonly languageCode: string;
  readonly #deps: LiveSubtitlesDeps;
  readonly #options: SubtitlesOptions;
  /** The track whose segments those of the text are cut like: video may come after audio. */
  readonly #sourceName: string;
  readonly #abort = new AbortController();
  readonly #files = new Map<number, Uint8Array>();
  readonly #cues: Cue[] = [];
  readonly #ended: Promise<void>;
  #state: LiveTrackState;
  /** When segments that are not listed yet were complete, by number. */
  readonly #completeMs = new Map<number, number>();
  /** What the last window took. */
  #lastMs = 0;
  #skipped = 0;
  /** Windows in a row that were tried in vain. */
  #failures = 0;
  /** Windows that are not tried, because those before failed. */
  #resting = 0;

  /** @param isContinued what was recorded before stays without text */
  constructor(deps: LiveSubtitlesDeps, options: SubtitlesOptions, isContinued: boolean) {
    this.trackId = options.trackId;
    this.name = options.name;
    this.languageCode = options.languageCode;
    this.#deps = deps;
    this.#options = options;
    this.#sourceName = options.feed.trackNames[0]!;
    const { timescale } = this.#source().info;
    const name = childName({ kind: 'text', trackId: this.trackId });
    const info = { name, kind: 'text', timescale, codecs: 'wvtt', bandwidth: 0 } as const;
    this.#state = { info, segments: [], ended: false };
    if (isContinued) this.#publish(this.#waiting(), []);
    this.note();
    this.#ended = this.#run();
  }

  get state(): LiveTrackState {
    return this.#state;
  }

  read(segment: number): Uint8Array | undefined {
    return this.#files.get(segment);
  }

  /** Segments of the recording are complete. */
  note(): void {
    for (const { number } of this.#waiting())
      if (!this.#completeMs.has(number)) this.#completeMs.set(number, this.#deps.clock.monotonicMs());
  }

  /** Ends with what the recording has, soon, and stores the text as that of the track. */
  async finish(): Promise<void> {
    const limit = setTimeout(() => this.#abort.abort(), this.#options.feed.times.targetSeconds * 1000);
    await this.#ended;
    clearTimeout(limit);
    await this.#deps.texts.store(this.#options.feed.assetId, this.trackId, indexCues(this.#cues));
  }

  /** Gives up what is not recognized yet. */
  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#ended;
  }

  #source(): LiveTrackState {
    return this.#options.feed.track(this.#sourceName)!;
  }

  /** Complete segments that are not listed yet. */
  #waiting(): LiveSegment[] {
    return this.#source()
      .segments.slice(this.#state.segments.length)
      .filter(({ complete }) => complete);
  }

  async #run(): Promise<void> {
    const { logger } = this.#deps;
    try {
      for (let window = await this.#next(); window; window = await this.#next())
        this.#publish(window.segments, await this.#cuesOf(window));
    } catch (error) {
      if (!this.#abort.signal.aborted) logger.error({ err: error }, 'live subtitles have ended');
    }
    this.#state = { ...this.#state, ended: true };
    this.#options.onChange();
  }

  /** Undefined at the end. */
  async #next(): Promise<Window | undefined> {
    const { clock } = this.#deps;
    const { feed } = this.#options;
    const { signal } = this.#abort;
    const { targetSeconds } = feed.times;
    while (!signal.aborted) {
      const source = this.#source();
      const leastTicks = Math.min(WINDOW_SECONDS, targetSeconds) * source.info.timescale;
      const { segments, isFull } = firstWindow(this.#waiting(), leastTicks);
      const nowMs = clock.monotonicMs();
      const sinceMs = segments[0] ? (this.#completeMs.get(segments[0].number) ?? nowMs) : nowMs;
      const isOld = nowMs - sinceMs >= MAX_WAIT_TARGETS * targetSeconds * 1000;
      if (segments.length > 0 && (isFull || isOld || source.ended)) return { segments, sinceMs };
      if (source.ended) return undefined;
      await pause(WAIT_MS, undefined, { signal, ref: false });
    }
    return undefined;
  }

  /** None when they are not there in time. */
  async #cuesOf({ segments, sinceMs }: Window): Promise<Cue[]> {
    const { clock } = this.#deps;
    const startMs = clock.monotonicMs();
    const leftMs = sinceMs + MAX_LATE_TARGETS * this.#options.feed.times.targetSeconds * 1000 - startMs;
    if (this.#resting > 0) {
      this.#resting -= 1;
      return this.#skip('the recognizer fails');
    }
    if (leftMs <= this.#lastMs) {
      // The window behind it can still be in time. It is tried again before long.
      this.#lastMs *= FORGOTTEN;
      return this.#skip('the recognizer is slow');
    }
    using limited = createLinkedAbort(this.#abort.signal, leftMs);
    try {
      const words = await this.#wordsOf(segments, limited.signal);
      if (this.#skipped > 0) this.#deps.logger.info({ windows: this.#skipped }, 'live subtitles continue');
      this.#skipped = 0;
      this.#failures = 0;
      const end = segments.at(-1)!;
      return makeCues(words, Math.floor(((end.startTicks + end.durationTicks) * 1000) / this.#state.info.timescale));
    } catch (error) {
      this.#failures += 1;
      this.#resting = Math.min(2 ** this.#failures, MAX_RESTING) - 1;
      return this.#skip(limited.isLate ? 'the recognizer is slow' : error);
    } finally {
      this.#lastMs = clock.monotonicMs() - startMs;
    }
  }

  /** One line in the log, however long it lasts. */
  #skip(reason: unknown): Cue[] {
    if (this.#skipped === 0 && !this.#abort.signal.aborted)
      this.#deps.logger.warn({ err: reason }, 'live subtitles skipped');
    this.#skipped += 1;
    return [];
  }

  async #wordsOf(window: readonly LiveSegment[], signal: AbortSignal): Promise<Word[]> {
    const { feed, phrases } = this.#options;
    const last = window.at(-1)!.number;
    // Audio may be complete a little later than video.
    await feed.waitFor('audio', last, undefined, { timeoutMs: WAIT_MS, signal });
    const audio = feed.track('audio');
    if (!audio) return [];
    const numbers = new Set(window.map(({ number }) => number));
    const segments = audio.segments.filter(({ number, complete, gap }) => numbers.has(number) && complete && !gap);
    const language = this.languageCode.split('-')[0]!;
    return recognizeSegments(
      this.#deps,
      feed,
      { info: audio.info, segments: sameRun(segments) },
      { language, phrases, signal },
    );
  }

  #publish(segments: readonly LiveSegment[], cues: readonly Cue[]): void {
    const { info } = this.#state;
    const text = indexCues(cues);
    for (const { number, startTicks, durationTicks } of segments) {
      const [start, end] = [startTicks, startTicks + durationTicks].map((ticks) => ticks / info.timescale);
      this.#completeMs.delete(number);
      this.#files.set(number, textSegment(text, start!, end!));
    }
    this.#cues.push(...cues);
    const added = segments.map(
      ({ number, startTicks, durationTicks, wallMs, discontinuity, version }): LiveSegment => ({
        ...{ number, startTicks, durationTicks, wallMs, discontinuity },
        ...(version !== undefined && { version }),
        ...{ config: 0, independent: true, parts: [], complete: true },
      }),
    );
    this.#state = { ...this.#state, segments: [...this.#state.segments, ...added] };
    this.#options.onChange();
  }
}

/** The first segments, as many as have a length; `isFull` if no more belong to them. */
const firstWindow = (
  waiting: readonly LiveSegment[],
  leastTicks: number,
): { readonly segments: readonly LiveSegment[]; readonly isFull: boolean } => {
  const run = sameRun(waiting);
  let ticks = 0;
  const last = run.findIndex(({ durationTicks }) => {
    ticks += durationTicks;
    return ticks >= leastTicks;
  });
  return last === -1
    ? { segments: run, isFull: run.length < waiting.length }
    : { segments: run.slice(0, last + 1), isFull: true };
};

/** Those up to the next discontinuity or configuration. */
const sameRun = (segments: readonly LiveSegment[]): LiveSegment[] => {
  const end = segments.findIndex(
    ({ discontinuity, config }, at) => at > 0 && (discontinuity || config !== segments[0]!.config),
  );
  return segments.slice(0, end === -1 ? undefined : end);
};
