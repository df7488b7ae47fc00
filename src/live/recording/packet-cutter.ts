import { withoutTemporalDelimiters } from '../../media/codecs/av1.js';
import { LIVE_TIMESCALE, toFrameRate } from '../../media/live/frame-grid.js';
import { isOpenKeyFrame } from '../../media/live/key-frame.js';
import { LiveSegmenter, type SegmenterEvents, type SegmenterOptions } from '../../media/live/live-segmenter.js';
import { LiveTimeline, type TimedVideo } from '../../media/live/live-timeline.js';
import {
  type LiveAudioFacts,
  type LiveVideoFacts,
  readLiveAudio,
  readLiveVideo,
} from '../../media/live/stream-facts.js';
import type { Rational } from '../../media/source/source-facts.js';
import type { AudioPacket, IngestPacket, VideoPacket } from '../ingest.js';

/** A configuration of a track that frames refer to by its number. */
export interface CutVideoConfig {
  readonly facts: LiveVideoFacts;
  /** See `VideoInit`. */
  readonly reorderTicks: number;
  readonly frameRate: Rational | undefined;
  /** It belongs to the slate, and says nothing of what the encoder sends. */
  readonly isSlate: boolean;
}

export interface CutAudioConfig {
  readonly facts: LiveAudioFacts;
  readonly timescale: number;
}

export interface CutterEvents extends SegmenterEvents {
  /** The session has its first frame, at this time in ticks of video. */
  started(ticks: number): void;
  videoConfig(number: number, config: CutVideoConfig): void;
  audioConfig(number: number, config: CutAudioConfig): void;
  /** Something that players can't be expected to play, or that can't be recorded. */
  problem(reason: string): void;
}

/** What the encoder sends, as far as it is known. */
export interface ContentFormat {
  readonly video?: { readonly facts: LiveVideoFacts; readonly frameRate: Rational | undefined };
  readonly audio?: LiveAudioFacts;
}

/** Where a recording that is continued ends. */
export interface CutterStart {
  readonly videoTicks: number;
  readonly audioTicks: number;
  readonly audioTimescale?: number;
  readonly video: readonly CutVideoConfig[];
  readonly audio: readonly CutAudioConfig[];
}

/** Without video for this long, audio is recorded alone. */
const AUDIO_ALONE_MS = 2000;
/** The same while a configuration of video says that frames will come. */
const MAX_HELD_MS = 10_000;
/** More frames than any codec has in this time: the clock of the encoder stands still. */
const MAX_HELD = 2000;
/** Frames that are shown before a key frame are not shown earlier. */
const MAX_LEADING_MS = 1000;

/** From packets of encoders to parts: configurations, times, and where a recording starts. */
export class PacketCutter {
  readonly #events: CutterEvents;
  readonly #timeline: LiveTimeline;
  readonly #segmenter: LiveSegmenter;
  readonly #videoConfigs: CutVideoConfig[];
  readonly #audioConfigs: CutAudioConfig[];
  #isSlate = false;
  #format: ContentFormat;
  /** Of the session. */
  #videoFacts: LiveVideoFacts | undefined;
  #audioFacts: LiveAudioFacts | undefined;
  #declaredRate: Rational | undefined;
  #needsKey = true;
  /** Number of the configuration that frames have. */
  #videoConfig = 0;
  #isStarted = false;
  /** When the session's first key frame is shown, until a frame follows that is shown later. */
  #leadingBeforeMs: number | undefined;
  /** Frames were left out that are shown before the first key frame. */
  #hasLeading = false;
  /** Audio that waits for the first key frame. */
  #held: AudioPacket[] = [];

  constructor(options: SegmenterOptions, events: CutterEvents, start?: CutterStart) {
    this.#events = events;
    this.#timeline = new LiveTimeline(start);
    this.#segmenter = new LiveSegmenter(options, events);
    this.#videoConfigs = [...(start?.video ?? [])];
    this.#audioConfigs = [...(start?.audio ?? [])];
    const video = this.#videoConfigs.findLast(({ isSlate }) => !isSlate);
    const audio = this.#audioConfigs.at(-1);
    this.#format = { ...(video && { video }), ...(audio && { audio: audio.facts }) };
  }

  /** Of the current session, or of the one before the slate. */
  get format(): ContentFormat {
    const { video, audio } = this.#format;
    const frameRate = this.#isSlate ? video?.frameRate : (this.#timeline.frameRate ?? video?.frameRate);
    return { ...(video && { video: { facts: video.facts, frameRate } }), ...(audio && { audio }) };
  }

  get longestSegmentSeconds(): number {
    return this.#segmenter.longestSeconds;
  }

  /** Segments stay within it from now on. */
  set targetSeconds(seconds: number) {
    this.#segmenter.targetSeconds = seconds;
  }

  beginSession(isSlate: boolean): void {
    this.#format = this.format;
    this.#isSlate = isSlate;
    this.#timeline.beginSession();
    this.#videoFacts = undefined;
    this.#audioFacts = undefined;
    this.#declaredRate = undefined;
    this.#needsKey = true;
    this.#isStarted = false;
    this.#leadingBeforeMs = undefined;
    this.#hasLeading = false;
    this.#held = [];
  }

  endSession(): void {
    if (this.#held.length > 0 && !this.#timeline.isRunning) this.#addHeld();
    this.#segmenter.endSession();
  }

  write(packet: IngestPacket): void {
    if (packet.kind === 'video') this.#video(packet);
    else if (packet.kind === 'audio') this.#audio(packet);
    else if (packet.kind === 'metadata') {
      if (packet.frameRate !== undefined) this.#declaredRate = toFrameRate(packet.frameRate);
    } else if (packet.kind === 'video-config') this.#setVideo(readLiveVideo(packet.config.codec, packet.config.record));
    else this.#setAudio(readLiveAudio(packet.config.record));
  }

  #setVideo(facts: LiveVideoFacts | undefined): void {
    if (!facts) {
      this.#events.problem('the decoder configuration of the video is damaged or unknown');
      return;
    }
    const isSame = this.#videoFacts && Buffer.compare(this.#videoFacts.record, facts.record) === 0;
    if (isSame) return;
    this.#videoFacts = facts;
    this.#needsKey = true;
    if (facts.obstacle !== undefined) this.#events.problem(facts.obstacle);
  }

  #setAudio(facts: LiveAudioFacts | undefined): void {
    if (!facts) {
      this.#events.problem('the decoder configuration of the audio is damaged or unknown');
      return;
    }
    this.#audioFacts = facts;
    this.#timeline.setAudioRate(facts.sampleRate);
  }

  #video({ dtsMs, compositionMs, isKey, data }: VideoPacket): void {
    const facts = this.#videoFacts;
    if (!facts || data.length === 0 || (this.#needsKey && !isKey)) return;
    if (this.#needsKey) this.#timeline.setFrameRate(this.#declaredRate ?? facts.frameRate);
    if (this.#isLeading(dtsMs + compositionMs, isKey)) return;
    const timed = this.#timeline.video(dtsMs, compositionMs);
    if (!timed) return;
    if (this.#needsKey) this.#leadingBeforeMs = dtsMs + compositionMs;
    const isOpen = isKey && this.#isOpen(facts, data, timed);
    if (this.#needsKey) this.#videoConfig = this.#chooseConfig(facts, timed.delayTicks);
    const config = this.#videoConfig;
    this.#needsKey = false;
    this.#start(timed.decodeTicks);
    const { reorderTicks } = this.#videoConfigs[config]!;
    this.#segmenter.video({
      decodeTicks: timed.decodeTicks,
      presentationTicks: timed.presentationTicks,
      compositionOffsetTicks: timed.presentationTicks - timed.decodeTicks + reorderTicks,
      isKey,
      isOpen,
      isJoined: timed.isJoined,
      config,
      data: facts.codec === 'av1' ? withoutTemporalDelimiters(data) : data,
      usualTicks: this.#timeline.frameTicks,
    });
    if (this.#held.length > 0) this.#addHeld();
  }

  /** Whether the frame needs others that came before the first key frame: it can't be decoded. */
  #isLeading(ptsMs: number, isKey: boolean): boolean {
    const limitMs = this.#leadingBeforeMs;
    if (limitMs === undefined) return false;
    const isLeading = !isKey && ptsMs < limitMs && ptsMs > limitMs - MAX_LEADING_MS;
    if (isLeading) this.#hasLeading = true;
    else this.#leadingBeforeMs = undefined;
    return isLeading;
  }

  /** A key frame that is shown late in comparison with the first one has leading frames. */
  #isOpen({ codec }: LiveVideoFacts, data: Uint8Array, { decodeTicks, presentationTicks }: TimedVideo): boolean {
    const isLate = presentationTicks - decodeTicks > this.#timeline.frameTicks / 2;
    const isOpen = isOpenKeyFrame(codec, data, !this.#needsKey && (isLate || this.#hasLeading));
    if (isOpen) this.#events.problem('its groups of pictures are open');
    return isOpen;
  }

  /**
   * `reorderTicks` is what the first key frame waits between decoding and display, or more if the
   * stream says so: no frame that follows is displayed before it is decoded.
   */
  #chooseConfig(facts: LiveVideoFacts, delayTicks: number): number {
    const declaredTicks = Math.round((facts.reorderFrames ?? 0) * this.#timeline.frameTicks);
    const reorderTicks = Math.max(delayTicks, declaredTicks);
    if (!this.#isSlate) this.#format = { ...this.#format, video: { facts, frameRate: undefined } };
    const number = this.#videoConfigs.findIndex(
      (other) => Buffer.compare(other.facts.record, facts.record) === 0 && other.reorderTicks === reorderTicks,
    );
    if (number !== -1) return number;
    const config = { facts, reorderTicks, frameRate: this.#timeline.frameRate, isSlate: this.#isSlate };
    this.#events.videoConfig(this.#videoConfigs.push(config) - 1, config);
    return this.#videoConfigs.length - 1;
  }

  #audio(packet: AudioPacket): void {
    if (!this.#audioFacts || packet.data.length === 0) return;
    if (this.#timeline.isRunning) {
      this.#addAudio(packet, this.#audioFacts);
      return;
    }
    this.#held.push(packet);
    const heldMs = packet.dtsMs - this.#held[0]!.dtsMs;
    // A jump of the clock: what is older does not belong to it.
    if (heldMs < 0) this.#held = [packet];
    else if (heldMs >= (this.#videoFacts ? MAX_HELD_MS : AUDIO_ALONE_MS) || this.#held.length >= MAX_HELD)
      this.#addHeld();
  }

  #addHeld(): void {
    const held = this.#held;
    this.#held = [];
    for (const packet of held) this.#addAudio(packet, this.#audioFacts!);
  }

  #addAudio({ dtsMs, data }: AudioPacket, facts: LiveAudioFacts): void {
    const timed = this.#timeline.audio(dtsMs);
    if (!timed) return;
    const timescale = this.#timeline.audioTimescale!;
    let config = this.#audioConfigs.findIndex((other) => Buffer.compare(other.facts.record, facts.record) === 0);
    if (config === -1) {
      const added = { facts, timescale };
      config = this.#audioConfigs.push(added) - 1;
      this.#events.audioConfig(config, added);
    }
    if (!this.#isSlate) this.#format = { ...this.#format, audio: facts };
    this.#start((timed.startTicks * LIVE_TIMESCALE) / timescale);
    this.#segmenter.audio({ ...timed, timescale, config, data });
  }

  #start(ticks: number): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#events.started(ticks);
  }
}
