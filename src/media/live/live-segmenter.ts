import type { FragmentSample } from '../mp4/cmaf.js';
import { LIVE_TIMESCALE } from './frame-grid.js';
import type { TimedAudio } from './live-timeline.js';

export type TrackKind = 'video' | 'audio';

export interface SegmenterOptions {
  /** Segments are cut at the first key frame after this time. */
  readonly leastSeconds: number;
  /** Parts have as many whole frames as fit. */
  readonly partSeconds: number;
  /** Number of the first segment. */
  readonly firstSegment: number;
  /** The tracks of the recording that is continued, if any. */
  readonly continuedTracks: readonly TrackKind[];
  /** A segment without a key frame is cut before it gets longer than the target duration. */
  readonly targetSeconds: number;
}

export interface LiveFrame {
  readonly decodeTicks: number;
  /** Equal to `decodeTicks` for a key frame that has no leading frames. */
  readonly presentationTicks: number;
  /** May be negative. */
  readonly compositionOffsetTicks: number;
  readonly isKey: boolean;
  /** A key frame that players can't start at: see `isOpenKeyFrame`. */
  readonly isOpen: boolean;
  /** The time does not continue that of the frame before. */
  readonly isJoined: boolean;
  readonly config: number;
  readonly data: Uint8Array;
  /** The duration if no other frame follows. */
  readonly usualTicks: number;
}

export interface LiveAudioFrame extends TimedAudio {
  readonly config: number;
  readonly timescale: number;
  readonly data: Uint8Array;
}

export interface CutPart {
  readonly track: TrackKind;
  readonly segment: number;
  /** Counted from 0 in the segment. */
  readonly part: number;
  /** In ticks of the track, as all times of the part. */
  readonly startTicks: number;
  readonly durationTicks: number;
  readonly config: number;
  /** Players can start with it. */
  readonly independent: boolean;
  /** It starts with an open key frame. */
  readonly open: boolean;
  /** Of the segment. */
  readonly discontinuity: boolean;
  readonly samples: readonly FragmentSample[];
  readonly data: readonly Uint8Array[];
}

/** What a segment without frames stands for: the other track has some. */
export interface EmptySegment {
  readonly startSeconds: number;
  readonly durationSeconds: number;
  readonly discontinuity: boolean;
}

/** Called by the segmenter, in the order of each track. */
export interface SegmenterEvents {
  part(part: CutPart): void;
  /** No part of the segment follows. A track gets every segment after its first one. */
  complete(track: TrackKind, segment: number, empty: EmptySegment | undefined): void;
  /** A segment ends without a key frame, because none came within the target duration. */
  forcedCut(): void;
}

/** Rounding of durations allows half a second (RFC 8216, 4.3.3.1). */
const TARGET_EXCESS_SECONDS = 0.4;
/** Durations are in whole milliseconds where the frame rate is unknown. */
const LEAST_TOLERANCE_SECONDS = 0.05;
/** A part ends earlier when it has so much: an encoder whose times stand still never fills it. */
const MAX_PART_BYTES = 8 * 2 ** 20;
/**
 * A segment without a key frame ends so much earlier if no later frame is shown before its end, so
 * that an encoded segment can follow a copied one. B-frames are shown before one that they follow.
 */
const CLEAN_CUT_SECONDS = 0.3;
/** Audio that is ahead of the video by more is not kept back until a cut of the video. */
const MAX_AHEAD_SECONDS = 1;

interface Segment {
  readonly number: number;
  readonly startTicks: number;
  readonly discontinuity: boolean;
}

/**
 * Cuts the frames of both tracks into segments with the same numbers and these into parts. Video
 * decides where: at key frames. Audio follows with the nearest frame, and decides if it is alone.
 */
export class LiveSegmenter {
  readonly #options: SegmenterOptions;
  readonly #events: SegmenterEvents;
  readonly #video: PartBuffer;
  readonly #audio: PartBuffer;
  /** The segment of the track that decides. */
  #segment: Segment | undefined;
  #nextNumber: number;
  #maxTicks: number;
  #longestTicks = 0;
  /** Waits for its duration, which the next frame tells. */
  #pending: LiveFrame | undefined;
  #hasVideo = false;
  /** When the last shown frame so far ends. */
  #shownTicks = 0;
  /** Later cuts are unknown. */
  #decidedTicks = 0;
  #audioQueue: LiveAudioFrame[] = [];
  /** Segments that audio has still to begin. */
  #cuts: Segment[] = [];
  #breakAtKey = false;

  constructor(options: SegmenterOptions, events: SegmenterEvents) {
    this.#options = options;
    this.#events = events;
    this.#nextNumber = options.firstSegment;
    this.#maxTicks = (options.targetSeconds + TARGET_EXCESS_SECONDS) * LIVE_TIMESCALE;
    this.#video = new PartBuffer('video', options, events);
    this.#audio = new PartBuffer('audio', options, events);
  }

  /** Segments stay within it from now on. */
  set targetSeconds(seconds: number) {
    this.#maxTicks = (seconds + TARGET_EXCESS_SECONDS) * LIVE_TIMESCALE;
  }

  /** Of the complete segments. */
  get longestSeconds(): number {
    return this.#longestTicks / LIVE_TIMESCALE;
  }

  video(frame: LiveFrame): void {
    this.#addPending(frame.isJoined ? undefined : frame.decodeTicks);
    const cut = this.#cutBefore(frame);
    if (cut) this.#cut(frame.decodeTicks, cut === 'break');
    this.#video.config = frame.config;
    this.#hasVideo = true;
    this.#pending = frame;
    const endTicks = frame.presentationTicks + frame.usualTicks;
    this.#shownTicks = frame.isJoined ? endTicks : Math.max(this.#shownTicks, endTicks);
    this.#decidedTicks = frame.decodeTicks;
    if (!this.#video.fits(frame.usualTicks, LIVE_TIMESCALE)) this.#video.flush();
    this.#drainAudio(false);
  }

  audio(frame: LiveAudioFrame): void {
    this.#audioQueue.push(frame);
    this.#drainAudio(false);
  }

  /** Completes the segment. The next frame is joined to it. */
  endSession(): void {
    this.#addPending(undefined);
    this.#drainAudio(true);
    for (const cut of this.#cuts) this.#beginAudio(cut);
    this.#cuts = [];
    this.#closeSegment();
    if (this.#segment) this.#audio.complete(this.#segment, this.#segmentSeconds());
    this.#segment = undefined;
    this.#hasVideo = false;
    this.#breakAtKey = false;
  }

  #addPending(nextTicks: number | undefined): void {
    const frame = this.#pending;
    if (!frame) return;
    this.#pending = undefined;
    const durationTicks = nextTicks === undefined ? Math.round(frame.usualTicks) : nextTicks - frame.decodeTicks;
    const { compositionOffsetTicks, data, isKey: sync, isOpen } = frame;
    const sample = { durationTicks, compositionOffsetTicks, sizeBytes: data.length, sync };
    this.#video.add(frame.decodeTicks, LIVE_TIMESCALE, data, sample, isOpen);
  }

  #cutBefore(frame: LiveFrame): 'break' | 'cut' | undefined {
    const segment = this.#segment;
    if (!segment || !this.#hasVideo || frame.isJoined || frame.config !== this.#video.config) return 'break';
    const length = frame.decodeTicks - segment.startTicks;
    const least = (this.#options.leastSeconds - LEAST_TOLERANCE_SECONDS) * LIVE_TIMESCALE;
    if (frame.isKey && this.#breakAtKey) return 'break';
    if (frame.isKey && length >= least) return 'cut';
    const isClean = this.#shownTicks <= frame.decodeTicks + frame.usualTicks / 2;
    const slackTicks = isClean ? CLEAN_CUT_SECONDS * LIVE_TIMESCALE : 0;
    if (length + frame.usualTicks + slackTicks <= this.#maxTicks) return undefined;
    if (!frame.isKey) this.#events.forcedCut();
    return 'cut';
  }

  #cut(ticks: number, isBreak: boolean): void {
    this.#closeSegment();
    const previous = this.#segment;
    if (previous) this.#longestTicks = Math.max(this.#longestTicks, ticks - previous.startTicks);
    const { continuedTracks, firstSegment } = this.#options;
    const discontinuity = isBreak && (continuedTracks.length > 0 || this.#nextNumber > firstSegment);
    this.#segment = { number: this.#nextNumber, startTicks: ticks, discontinuity };
    this.#nextNumber += 1;
    this.#breakAtKey = false;
    this.#video.begin(this.#segment);
    this.#cuts.push(this.#segment);
  }

  #closeSegment(): void {
    if (this.#segment) this.#video.complete(this.#segment, this.#segmentSeconds());
  }

  #segmentSeconds(): number {
    const end = Math.max(this.#video.endSeconds, this.#audio.endSeconds);
    return Math.max(end - (this.#segment?.startTicks ?? 0) / LIVE_TIMESCALE, 0);
  }

  #drainAudio(isEnd: boolean): void {
    for (let frame = this.#audioQueue[0]; frame; frame = this.#audioQueue[0]) {
      const middle = ((frame.startTicks + frame.durationTicks / 2) * LIVE_TIMESCALE) / frame.timescale;
      const cut = this.#cuts[0];
      if (cut && cut.startTicks <= middle) {
        this.#beginAudio(cut);
        this.#cuts.shift();
        continue;
      }
      const newest = this.#audioQueue.at(-1)!;
      const aheadTicks = (newest.startTicks * LIVE_TIMESCALE) / newest.timescale - this.#decidedTicks;
      const mayWait = !isEnd && aheadTicks < MAX_AHEAD_SECONDS * LIVE_TIMESCALE;
      if (this.#hasVideo && !cut && middle > this.#decidedTicks && mayWait) return;
      if (this.#cutWithoutVideo(frame)) continue;
      this.#audioQueue.shift();
      if (!this.#hasVideo) this.#cutAudioAlone(frame);
      this.#addAudio(frame);
    }
  }

  /** Audio goes on when video has stopped: its segment ends within the target duration as well. */
  #cutWithoutVideo({ startTicks, durationTicks, timescale }: LiveAudioFrame): boolean {
    const segment = this.#segment;
    if (!this.#hasVideo || !segment) return false;
    const endTicks = ((startTicks + durationTicks) * LIVE_TIMESCALE) / timescale;
    if (endTicks - segment.startTicks <= this.#maxTicks) return false;
    this.#addPending(undefined);
    this.#cut((startTicks * LIVE_TIMESCALE) / timescale, false);
    return true;
  }

  /** Audio alone decides where segments end. */
  #cutAudioAlone(frame: LiveAudioFrame): void {
    const ticks = (frame.startTicks * LIVE_TIMESCALE) / frame.timescale;
    const isBreak = !this.#segment || frame.isJoined || frame.config !== this.#audio.config;
    const least = this.#options.leastSeconds * LIVE_TIMESCALE;
    if (!isBreak && ticks - this.#segment!.startTicks < least) return;
    this.#cut(ticks, isBreak);
    this.#beginAudio(this.#cuts.shift()!);
  }

  #addAudio(frame: LiveAudioFrame): void {
    if (frame.config !== this.#audio.config) {
      // Another configuration needs another segment.
      if (!this.#audio.isEmpty) {
        this.#breakAtKey = true;
        return;
      }
      this.#audio.config = frame.config;
    }
    const { startTicks, durationTicks, timescale, data } = frame;
    const sample = { durationTicks, compositionOffsetTicks: 0, sizeBytes: data.length, sync: true };
    this.#audio.add(startTicks, timescale, data, sample);
    if (!this.#audio.fits(durationTicks, timescale)) this.#audio.flush();
  }

  #beginAudio(segment: Segment): void {
    const previous = this.#audio.segment;
    if (previous) this.#audio.complete(previous, (segment.startTicks - previous.startTicks) / LIVE_TIMESCALE);
    this.#audio.begin(segment);
  }
}

/** The part of a track that grows. */
class PartBuffer {
  config = 0;
  segment: Segment | undefined;
  readonly #track: TrackKind;
  readonly #partSeconds: number;
  readonly #events: SegmenterEvents;
  #hasParts: boolean;
  #startTicks = 0;
  #durationTicks = 0;
  #timescale = 1;
  #number = 0;
  #isComplete = true;
  #sizeBytes = 0;
  /** Of the first frame. */
  #isOpen = false;
  #samples: FragmentSample[] = [];
  #data: Uint8Array[] = [];

  constructor(track: TrackKind, { partSeconds, continuedTracks }: SegmenterOptions, events: SegmenterEvents) {
    this.#track = track;
    this.#partSeconds = partSeconds;
    this.#hasParts = continuedTracks.includes(track);
    this.#events = events;
  }

  /** Whether the segment has no frame yet. */
  get isEmpty(): boolean {
    return this.#number === 0 && this.#samples.length === 0;
  }

  /** End of the last frame. */
  get endSeconds(): number {
    return (this.#startTicks + this.#durationTicks) / this.#timescale;
  }

  fits(durationTicks: number, timescale: number): boolean {
    return this.#samples.length === 0 || this.#durationTicks + durationTicks <= this.#partSeconds * timescale + 0.5;
  }

  begin(segment: Segment): void {
    this.segment = segment;
    this.#number = 0;
    this.#isComplete = false;
  }

  add(startTicks: number, timescale: number, data: Uint8Array, sample: FragmentSample, isOpen = false): void {
    if (!this.fits(sample.durationTicks, timescale)) this.flush();
    // A gap in the audio: the last frame before it lasts until its end.
    if (this.#samples.length > 0 && startTicks > this.#startTicks + this.#durationTicks) this.flush();
    if (this.#samples.length === 0) {
      this.#startTicks = startTicks;
      this.#durationTicks = 0;
      this.#isOpen = isOpen;
    }
    this.#timescale = timescale;
    this.#durationTicks += sample.durationTicks;
    this.#samples.push(sample);
    this.#data.push(data);
    this.#sizeBytes += data.length;
    if (this.#sizeBytes >= MAX_PART_BYTES) this.flush();
  }

  /** Emits what there is as a part. */
  flush(): void {
    const segment = this.segment;
    if (this.#samples.length === 0 || !segment) return;
    this.#hasParts = true;
    this.#events.part({
      track: this.#track,
      segment: segment.number,
      part: this.#number,
      startTicks: this.#startTicks,
      durationTicks: this.#durationTicks,
      config: this.config,
      independent: this.#samples[0]!.sync && !this.#isOpen,
      open: this.#isOpen,
      discontinuity: segment.discontinuity,
      samples: this.#samples,
      data: this.#data,
    });
    this.#number += 1;
    this.#startTicks += this.#durationTicks;
    this.#durationTicks = 0;
    this.#samples = [];
    this.#data = [];
    this.#sizeBytes = 0;
  }

  /** Ends the segment, which has this length if the track has no frames in it. */
  complete({ number, startTicks, discontinuity }: Segment, durationSeconds: number): void {
    this.flush();
    if (this.#isComplete || !this.#hasParts) return;
    this.#isComplete = true;
    const empty = { startSeconds: startTicks / LIVE_TIMESCALE, durationSeconds, discontinuity };
    this.#events.complete(this.#track, number, this.#number === 0 ? empty : undefined);
  }
}
