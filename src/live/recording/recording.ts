import type { LiveFeed } from '../../domain/playback/live-feed.js';
import type { Clock } from '../../lib/clock.js';
import type { ClosedCaptions } from '../../media/captions/caption-decoder.js';
import { LIVE_TIMESCALE } from '../../media/live/frame-grid.js';
import type { CutPart, EmptySegment, TrackKind } from '../../media/live/live-segmenter.js';
import type { LatencyMode, LiveTimes, LiveTrackState } from '../../media/live/live-track.js';
import {
  type EmptyRecord,
  PART_HEAD_BYTES,
  type PartRecord,
  type SessionKind,
  writeFact,
  writePartHead,
  writeRecordsEnd,
} from '../../media/live/recording-format.js';
import { type RecordingMovie, writeRecordingMovie } from '../../media/live/recording-movie.js';
import { writeFragment } from '../../media/mp4/cmaf.js';
import { hasReached, isPlayable } from '../../media/playlist/live-hls.js';
import type { VideoFacts } from '../../media/source/source-facts.js';
import type { BlobStore } from '../../storage/blob-store.js';
import type { Logger } from '../../telemetry/logger.js';
import type { IngestPacket } from '../ingest.js';
import type { LiveSubtitlesTrack } from '../subtitles/live-subtitles.js';
import { copyRange, type TimeRange, writeAudioConfig, writeVideoConfig } from './copy-range.js';
import type { MissingBytes } from './missing-bytes.js';
import { type OpenedFile, openFile, type ReplicaUse } from './open-file.js';
import { type ContentFormat, type CutAudioConfig, type CutVideoConfig, PacketCutter } from './packet-cutter.js';
import { PartWaiters } from './part-waiters.js';
import { RecordedTracks } from './recorded-tracks.js';
import { RecordingLimits } from './recording-limits.js';
import { type RecordingFailure, RecordingWriter } from './recording-writer.js';
import { RecordingReplica } from './replica.js';

/** What the owner of a recording does about it. Called synchronously from `write`, but `failed`. */
export interface RecordingEvents {
  /** Players can start; the times are final. */
  playable(): void;
  /** No key frame came within the target duration; called once. */
  forcedCut(): void;
  /** Why players can't be expected to play the video as it is; called once for each reason. */
  problem(reason: string): void;
  /** Nothing more is recorded. What there is can still be finished. */
  failed(failure: RecordingFailure, error?: unknown): void;
}

export interface RecordingOptions {
  readonly blobs: BlobStore;
  /** Where the finished file goes. */
  readonly key: string;
  readonly assetId: string;
  readonly latencyMode: LatencyMode;
  /** What the owner of the live stream says about its video. */
  readonly captions?: readonly ClosedCaptions[];
  /** Media sequence number of the first segment, unless a recording is continued. */
  readonly firstSequence: number;
  readonly firstDiscontinuity: number;
  /** Among several servers. */
  readonly replica?: ReplicaUse | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: RecordingEvents;
}

export interface FinishedRecording {
  readonly durationSeconds: number;
  readonly sizeBytes: number;
}

/** The times of each mode. Without a declared target, segments end after 10 s at the latest. */
const MODES: Readonly<Record<LatencyMode, { readonly leastSeconds: number; readonly targetSeconds?: number }>> = {
  low: { leastSeconds: 1, targetSeconds: 4 },
  reduced: { leastSeconds: 2 },
  standard: { leastSeconds: 4 },
};
const MAX_TARGET_SECONDS = 10;
const PART_SECONDS = 0.35;
const AUDIO_WAIT_MS = 2000;
/** Without parts, the target is declared, and players can start, with this many segments. */
const PLAYABLE_SEGMENTS = 3;

/**
 * Records a broadcast in one file and serves what is recorded. A part reaches the operating system
 * when it is cut, so that the end of the process loses at most one. One file, because the parts
 * that are written and those that are served are the same state.
 */
export class Recording implements LiveFeed {
  readonly assetId: string;
  readonly firstDiscontinuity: number;
  readonly firstSequence: number;
  /** Of the session that a stop has interrupted; see `sessionStartMs`. */
  readonly interruptedStartMs: number | undefined;
  readonly #options: RecordingOptions;
  readonly #writer: RecordingWriter;
  readonly #cutter: PacketCutter;
  readonly #waiters: PartWaiters;
  readonly #tracks: RecordedTracks;
  readonly #limits: RecordingLimits;
  readonly #problems = new Set<string>();
  #times: LiveTimes;
  #isPlayable: boolean;
  #hasForcedCut = false;
  /** Nothing more is recorded. */
  #isClosed = false;
  #isCommitted = false;
  #replica: RecordingReplica | undefined;
  #missing: MissingBytes | undefined;
  #probed: VideoFacts | undefined;
  #movie: RecordingMovie | undefined;
  #outcome: { readonly finished: FinishedRecording | undefined } | undefined;
  #fragments = 0;
  #hasSessionFrames = false;
  /** Set by the owner, if speech is recognized. */
  subtitles: LiveSubtitlesTrack | undefined;
  #session: { readonly kind: SessionKind; readonly wallMs: number } = { kind: 'content', wallMs: 0 };
  /** Where the last part ends that belongs to no slate. */
  #contentEndBytes: number;
  /** Wall clock of the session's first frame, and its time in ticks of video. */
  #anchor = { wallMs: 0, ticks: 0 };

  private constructor(options: RecordingOptions, writer: RecordingWriter, { soFar, takeover, missing }: OpenedFile) {
    const { latencyMode, assetId, clock } = options;
    const { leastSeconds, targetSeconds = soFar?.targetSeconds } = MODES[latencyMode];
    this.#options = options;
    this.assetId = assetId;
    this.firstSequence = soFar?.firstSequence ?? options.firstSequence;
    this.firstDiscontinuity = soFar?.firstDiscontinuity ?? options.firstDiscontinuity;
    this.#limits = new RecordingLimits(clock, soFar?.nextSequence ?? options.firstSequence);
    this.#writer = writer;
    this.#missing = missing;
    this.#waiters = new PartWaiters(() => clock.monotonicMs());
    this.#tracks = soFar?.tracks ?? new RecordedTracks((offset, length) => this.#readFile(offset, length));
    if (takeover !== undefined) this.#tracks.takeOver(takeover);
    this.#times = {
      latencyMode,
      targetSeconds: targetSeconds ?? leastSeconds,
      ...(latencyMode === 'low' && { partTargetSeconds: PART_SECONDS }),
    };
    this.#isPlayable = soFar?.targetSeconds !== undefined;
    this.#probed = soFar?.video;
    this.interruptedStartMs = soFar?.sessionStartMs;
    this.#contentEndBytes = soFar?.contentEndBytes ?? 0;
    this.#cutter = new PacketCutter(
      {
        leastSeconds,
        targetSeconds: targetSeconds ?? MAX_TARGET_SECONDS,
        partSeconds: PART_SECONDS,
        firstSegment: soFar?.nextSequence ?? options.firstSequence,
        continuedTracks: this.#tracks.kinds,
      },
      {
        part: (part) => this.#addPart(part),
        complete: (track, segment, empty) => this.#completeSegment(track, segment, empty),
        forcedCut: () => this.#forcedCut(),
        started: (ticks) => this.#started(ticks),
        videoConfig: (number, config) => this.#addVideoConfig(number, config),
        audioConfig: (number, config) => this.#addAudioConfig(number, config),
        problem: (reason) => this.#problem(reason),
      },
      soFar?.cutterStart,
    );
  }

  /**
   * Begins a recording, or continues the unfinished one with this key.
   * @throws KinoraError `unavailable` when the file is being written
   */
  static async open(options: RecordingOptions): Promise<Recording> {
    const { blobs, key, clock, assetId, logger, replica } = options;
    const write = await blobs.resumeWrite(key);
    try {
      const readFile = (offset: number, length: number): Promise<Uint8Array> => recording.#readFile(offset, length);
      const { leastSeconds } = MODES[options.latencyMode];
      const opened = await openFile(write, readFile, { ...options, leastSeconds });
      const writer = new RecordingWriter(write, {
        clock,
        reopen: () => blobs.resumeWrite(key),
        onFailure: (failure, error) => recording.#fail(failure, error),
      });
      const recording: Recording = new Recording(options, writer, opened);
      if (replica) {
        const { store, term } = replica;
        const { replicated: fromBytes, index } = opened;
        recording.#replica = new RecordingReplica({
          ...{ store, term, assetId, logger, fromBytes, index },
          source: writer,
        });
      }
      return recording;
    } catch (error) {
      await write.suspend().catch(() => undefined);
      throw error;
    }
  }

  get captions(): readonly ClosedCaptions[] {
    return this.#options.captions ?? [];
  }

  get times(): LiveTimes {
    return this.#times;
  }

  /** Whether players can start. */
  get isPlayable(): boolean {
    return this.#isPlayable;
  }

  /** Whether it was begun elsewhere: more segments may have been published than it has. */
  get isTakenOver(): boolean {
    return this.#tracks.isTakenOver;
  }

  /** The number after the last segment. */
  get nextSequence(): number {
    return Math.max(this.firstSequence, ...this.#tracks.all.map(({ nextNumber }) => nextNumber ?? 0));
  }

  /** Discontinuities so far, those before this broadcast included. */
  get discontinuities(): number {
    const segments = this.#tracks.deciding?.state.segments ?? [];
    return this.firstDiscontinuity + segments.filter(({ discontinuity }) => discontinuity).length;
  }

  /** Wall clock of the first frame of the session, in milliseconds; undefined before it. */
  get sessionStartMs(): number | undefined {
    return this.#hasSessionFrames ? this.#anchor.wallMs : undefined;
  }

  get sizeBytes(): number {
    return this.#writer.endBytes;
  }

  /** What the file does not have yet. */
  get missingBytes(): number {
    return this.#missing?.sizeBytes ?? 0;
  }

  get durationSeconds(): number {
    return Math.max(0, ...this.#tracks.all.map(({ state, endTicks }) => endTicks / state.info.timescale));
  }

  /** Every frame that is shown before this time is recorded. */
  get displayedSeconds(): number {
    const track = this.#tracks.deciding;
    const last = track?.state.segments.at(-1);
    if (!track || !last) return 0;
    const { kind, timescale } = track.state.info;
    const reorderTicks = kind === 'video' ? (this.#tracks.videoConfigs[last.config]?.reorderTicks ?? 0) : 0;
    return Math.max(0, last.startTicks + last.durationTicks - reorderTicks) / timescale;
  }

  /**
   * Stores the segments with this range as the blob `key`, an MP4. Returns the whole second that is
   * zero in it.
   */
  async copyRange(key: string, range: TimeRange): Promise<number> {
    const isRecorded = (): boolean =>
      this.#isClosed ||
      this.#tracks.all.every(({ state, endTicks }) => endTicks / state.info.timescale >= range.endSeconds);
    // Audio arrives a little later than its frames.
    await this.#waiters.wait(isRecorded, { timeoutMs: AUDIO_WAIT_MS, signal: new AbortController().signal });
    const write = await this.#options.blobs.resumeWrite(key);
    try {
      return await copyRange(this.#tracks, range, write);
    } catch (error) {
      await write.discard();
      throw error;
    }
  }

  /** Wall clock of the end, in milliseconds since 1970; undefined before the first frame. */
  get endWallMs(): number | undefined {
    const ends = this.#tracks.all.flatMap(({ state: { segments, info } }) => {
      const last = segments.at(-1);
      return last ? [last.wallMs + (last.durationTicks * 1000) / info.timescale] : [];
    });
    return ends.length > 0 ? Math.max(...ends) : undefined;
  }

  /** What the encoder sends, or sent before the slate. */
  get format(): ContentFormat {
    return this.#cutter.format;
  }

  /** What a media process has found in the first segment, also before a restart. */
  get probed(): VideoFacts | undefined {
    return this.#probed;
  }

  keepProbed(video: VideoFacts): void {
    this.#probed = video;
    if (!this.#isClosed) this.#writer.append([writeFact({ type: 'probed', video })]);
  }

  get trackNames(): readonly string[] {
    return this.#tracks.all.map(({ state }) => state.info.name);
  }

  track(name: string): LiveTrackState | undefined {
    return this.#tracks.named(name)?.state ?? this.#text(name)?.state;
  }

  waitFor(
    name: string,
    segment: number,
    part: number | undefined,
    options: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<boolean> {
    const isDone = (): boolean => {
      const state = this.track(name);
      // Text may be recognized after the last part.
      return (this.#isClosed && !this.#text(name)) || (state !== undefined && hasReached(state, { segment, part }));
    };
    return this.#waiters.wait(isDone, options);
  }

  init(name: string, config: number): Uint8Array | undefined {
    return this.#tracks.named(name)?.inits[config];
  }

  async read(name: string, segment: number, part?: number): Promise<Uint8Array | undefined> {
    return this.#tracks.named(name)?.read(segment, part) ?? this.#text(name)?.read(segment);
  }

  /** What requests wait for may be there: a track of text has changed. */
  notify(): void {
    this.#waiters.notify();
  }

  #text(name: string): LiveSubtitlesTrack | undefined {
    return this.subtitles?.state.info.name === name ? this.subtitles : undefined;
  }

  /**
   * An encoder has connected, or a slate begins. `wallMs` is when: for content this is only
   * recorded, because its first frame comes later; for a slate it is the time of the first frame.
   */
  beginSession(wallMs: number, kind: SessionKind): void {
    this.#session = { kind, wallMs };
    this.#hasSessionFrames = false;
    this.#cutter.beginSession(kind === 'slate');
    this.#writer.append([writeFact({ type: 'session', wallMs, kind })]);
  }

  /** Never waits. */
  write(packet: IngestPacket): void {
    if (!this.#isClosed) this.#cutter.write(packet);
  }

  /** The encoder has left: what it sent becomes visible as a complete segment. */
  endSession(): void {
    if (!this.#isClosed) this.#cutter.endSession();
  }

  /**
   * Makes the file an ordinary MP4 and the blob of the recording; undefined, and no blob, if there
   * are no frames. A slate at the end is left out. It can be called again, also after an error.
   * @throws what prevents the writing
   */
  async finish(): Promise<FinishedRecording | undefined> {
    this.#outcome ??= { finished: await this.#complete() };
    return this.#outcome.finished;
  }

  async #complete(): Promise<FinishedRecording | undefined> {
    this.#close();
    await this.#writer.drain();
    await this.#missing?.finish();
    this.#missing = undefined;
    const recordsEnd = this.#writer.endBytes;
    this.#movie ??= await writeRecordingMovie(
      (offset, length) => this.#writer.read(offset, length),
      Math.min(this.#contentEndBytes, recordsEnd),
    );
    if (!this.#movie) {
      await this.discard();
      return undefined;
    }
    const { bytes, durationSeconds } = this.#movie;
    await this.#replica?.stop();
    const { sizeBytes } = await this.#writer.commit(bytes, writeRecordsEnd(recordsEnd));
    this.#isCommitted = true;
    this.#movie = undefined;
    for (const track of this.#tracks.all) track.forgetRecent();
    return { durationSeconds, sizeBytes };
  }

  /**
   * Ends the session and keeps the file, so that another process continues it. True if other
   * servers can, too: everything was replicated within `limitMs`.
   */
  async suspend(limitMs = 0): Promise<boolean> {
    this.endSession();
    this.#isClosed = true;
    this.#waiters.notify();
    await this.#writer.drain();
    const isReplicated = (await this.#replica?.finish(limitMs)) ?? false;
    await this.#missing?.stop();
    await this.#writer.suspend();
    return isReplicated;
  }

  /** Whether other servers have everything that is recorded so far, within `limitMs`. */
  async catchUp(limitMs: number): Promise<boolean> {
    return (await this.#replica?.catchUp(limitMs)) ?? false;
  }

  /** Removes the file, but no replica. For viewers nothing ends: it goes on elsewhere. */
  async discard(): Promise<void> {
    this.endSession();
    this.#isClosed = true;
    this.#waiters.notify();
    await Promise.all([this.#replica?.stop(), this.#missing?.stop()]);
    await this.#writer.discard();
  }

  #close(): void {
    this.endSession();
    this.#isClosed = true;
    if (!this.#isPlayable && this.#tracks.deciding) this.#declareTarget();
    for (const track of this.#tracks.all) track.end();
    this.#waiters.notify();
  }

  async #readFile(offset: number, length: number): Promise<Uint8Array> {
    if (!this.#isCommitted) return (this.#missing ?? this.#writer).read(offset, length);
    const { blobs, key } = this.#options;
    const stream = await blobs.read(key, { start: offset, end: offset + length });
    return Buffer.concat(((await stream?.toArray()) ?? []) as Buffer[]);
  }

  #started(ticks: number): void {
    this.#hasSessionFrames = true;
    const { kind, wallMs } = this.#session;
    this.#anchor = { wallMs: kind === 'slate' ? wallMs : this.#options.clock.now().getTime(), ticks };
  }

  #wallMs(seconds: number): number {
    return this.#anchor.wallMs + seconds * 1000 - (this.#anchor.ticks * 1000) / LIVE_TIMESCALE;
  }

  #addVideoConfig(number: number, config: CutVideoConfig): void {
    if (!this.#limits.allowsConfig(number)) this.#fail('unreasonable');
    this.#tracks.addVideoConfig(number, config);
    this.#writer.append([writeVideoConfig(number, config)]);
  }

  #addAudioConfig(number: number, config: CutAudioConfig): void {
    if (!this.#limits.allowsConfig(number)) this.#fail('unreasonable');
    this.#tracks.addAudioConfig(number, config);
    this.#writer.append([writeAudioConfig(number, config)]);
  }

  #addPart(cut: CutPart): void {
    const { samples, data, ...times } = cut;
    const track = this.#tracks.of(cut.track)!;
    const part: PartRecord = { ...times, wallMs: this.#wallMs(cut.startTicks / track.state.info.timescale) };
    this.#fragments += 1;
    const bytes = writeFragment({ sequence: this.#fragments, baseDecodeTicks: cut.startTicks, samples, data });
    const offset = this.#writer.append([writePartHead(part, bytes.length), bytes]);
    if (this.#session.kind === 'content') this.#contentEndBytes = this.#writer.endBytes;
    if (this.#isClosed) return;
    track.add(part, offset + PART_HEAD_BYTES, bytes.length, bytes);
    if (!this.#limits.allowsPart(part, track.segmentBytes)) this.#fail('unreasonable');
    track.trim(this.#times.targetSeconds, this.#writer.writtenBytes);
    this.#checkPlayable();
    this.#waiters.notify();
  }

  #completeSegment(kind: TrackKind, segment: number, empty: EmptySegment | undefined): void {
    const track = this.#tracks.of(kind);
    if (!track) return;
    if (empty) {
      const { timescale } = track.state.info;
      const record: EmptyRecord = {
        track: kind,
        segment,
        startTicks: Math.round(empty.startSeconds * timescale),
        durationTicks: Math.round(empty.durationSeconds * timescale),
        discontinuity: empty.discontinuity,
        wallMs: this.#wallMs(empty.startSeconds),
      };
      this.#writer.append([writeFact({ type: 'empty', ...record })]);
      track.addEmpty(record);
    } else track.complete();
    this.subtitles?.note();
    this.#checkPlayable();
    this.#waiters.notify();
  }

  #checkPlayable(): void {
    if (this.#isPlayable || !this.#tracks.deciding) return;
    const { state, completeCount } = this.#tracks.deciding;
    const isLow = this.#options.latencyMode === 'low';
    if (isLow ? !isPlayable(state, this.#times) : completeCount < PLAYABLE_SEGMENTS) return;
    this.#declareTarget();
    this.#options.events.playable();
  }

  #declareTarget(): void {
    this.#isPlayable = true;
    const { leastSeconds, targetSeconds } = MODES[this.#options.latencyMode];
    const { segments, info } = this.#tracks.deciding!.state;
    const longest = Math.max(...segments.map(({ durationTicks }) => durationTicks / info.timescale));
    const declared = targetSeconds ?? Math.min(Math.max(leastSeconds, Math.round(longest)), MAX_TARGET_SECONDS);
    this.#times = { ...this.#times, targetSeconds: declared };
    this.#cutter.targetSeconds = declared;
    this.#writer.append([writeFact({ type: 'target', targetSeconds: declared })]);
  }

  #forcedCut(): void {
    if (this.#hasForcedCut) return;
    this.#hasForcedCut = true;
    this.#options.events.forcedCut();
  }

  #problem(reason: string): void {
    if (this.#problems.has(reason)) return;
    this.#problems.add(reason);
    this.#options.events.problem(reason);
  }

  #fail(failure: RecordingFailure, error?: unknown): void {
    if (this.#isClosed) return;
    const { logger, assetId, events } = this.#options;
    this.#isClosed = true;
    logger.error({ asset_id: assetId, failure, error }, 'recording of a live stream failed');
    events.failed(failure, error);
  }
}
