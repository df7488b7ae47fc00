import type { RecordingTime } from '../db/schema.js';
import { hashSecret } from '../domain/access/secret-hash.js';
import type { EndedBroadcast } from '../domain/live/end-broadcast.js';
import type { LiveSettings } from '../domain/live/live-settings.js';
import type { LiveStates } from '../domain/live/live-states.js';
import type { LiveFeed } from '../domain/playback/live-feed.js';
import type { Clock } from '../lib/clock.js';
import { newId } from '../lib/ids.js';
import { isNoSpace } from '../lib/no-space.js';
import type { LiveFacts } from '../media/plan/asset-properties.js';
import type { ConnectionOpener } from '../net/open-connection.js';
import type { BlobStore } from '../storage/blob-store.js';
import { sourceKey } from '../storage/keys.js';
import type { Logger } from '../telemetry/logger.js';
import type { IngestPacket, Publication, PublishRequest, Refusal } from './ingest.js';
import { FAILURES, keyFrameAdvice, playersAdvice, slateImageProblem } from './owner-messages.js';
import { Publisher } from './publisher.js';
import type { ReplicaUse } from './recording/open-file.js';
import { Recording } from './recording/recording.js';
import type { RecordingFailure } from './recording/recording-writer.js';
import { type ReplicaStore, removeReplica } from './recording/replica.js';
import type { LiveRungs } from './rungs/live-rungs.js';
import { SessionTimes } from './session-times.js';
import { Simulcast } from './simulcast/simulcast.js';
import { Slate } from './slate/slate.js';
import type { SlateMaker } from './slate/slate-maker.js';
import type { StateLog } from './state-log.js';
import type { SubtitleMaker } from './subtitles/subtitle-maker.js';

export interface BroadcastDeps {
  readonly states: LiveStates;
  readonly blobs: BlobStore;
  /** Where recordings are replicated, among several servers. */
  readonly replicas?: ReplicaStore | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly rungs: LiveRungs;
  readonly slates: SlateMaker;
  readonly subtitles: SubtitleMaker;
  /** Of simulcast targets. */
  readonly opener: ConnectionOpener;
  /** Of the live stream: the next broadcast begins when everything of this one is saved. */
  readonly log: StateLog;
  /** Players can start to read the broadcast. */
  readonly onPlayable: (feed: LiveFeed, recording: Recording) => void;
  /** The recording has ended; packets and publishers of the broadcast are dropped from now on. */
  readonly onEnded: () => void;
  /** The end is saved, and no encoder is connected any more. */
  readonly onGone: () => void;
  /** Another server has the broadcast. */
  readonly onLost: () => void;
}

/** A broadcast whose server was stopped or lost. */
export interface ResumedBroadcast extends Omit<ReplicaUse, 'store'> {
  readonly isActive: boolean;
  readonly times: readonly RecordingTime[];
  /** The track of what was recognized before. */
  readonly subtitlesId: string | undefined;
}

/** A publisher that is silent for longer than this gives way to another one with the same key. */
const SILENT_MS = 3000;
/** Handing over must not keep the encoder waiting. */
const HAND_OVER_MS = 4000;
/** An encoder that reconnects by itself after `complete` would begin another recording. */
const HOLD_AFTER_COMPLETE_MS = 60_000;
/** After a restart of the server, encoders get at least this long to come back. */
const LEAST_WINDOW_AFTER_RESTART_SECONDS = 60;
/** A slate fills no more of the time in which nothing was recorded, as while the server is down. */
const MAX_FILLED_SECONDS = 120;
/** No segment is shorter, but at the end of a session. */
const LEAST_SEGMENT_SECONDS = 0.5;
/** Packets that wait until the asset is created. */
const MAX_WAITING_BYTES = 16 * 2 ** 20;
/** What a waiting packet takes beside its data. */
const PACKET_BYTES = 200;
/** Of the index at the end of the file: 30 frames of 12 bytes a second, and audio. */
const INDEX_BYTES_PER_SECOND = 700;

/**
 * A live stream on air: from its first publisher to the end of the last one's reconnect window.
 * Makes one asset. Packets never wait for the database; changes of state are saved in their order.
 * One file, because the encoder, the slate and the end of a broadcast change the same state.
 */
export class Broadcast {
  readonly #deps: BroadcastDeps;
  readonly #settings: LiveSettings;
  readonly #logger: Logger;
  readonly #simulcast: Simulcast;
  #times = new SessionTimes();
  #keyHash: string | undefined;
  #publisher: Publisher | undefined;
  #assetId: string | undefined;
  #recording: Recording | undefined;
  /** Present from the time when players can start, if the mode wants one. */
  #slate: Slate | undefined;
  #opening: Promise<void> | undefined;
  #waiting: IngestPacket[] = [];
  #waitingBytes = 0;
  #windowTimer: NodeJS.Timeout | undefined;
  #limitTimer: NodeJS.Timeout | undefined;
  #ending: Promise<void> | undefined;
  #isEndSaved = false;
  #activating: Promise<void> | undefined;
  /** Of the first segments. */
  #facts: LiveFacts | undefined;
  #isActive = false;
  /** Of the track of what was recognized before a restart. */
  #subtitlesId: string | undefined;

  constructor(deps: BroadcastDeps, settings: LiveSettings) {
    this.#deps = deps;
    this.#settings = settings;
    this.#keyHash = settings.keyHash;
    this.#logger = deps.logger.child({ live_stream_id: settings.liveStreamId });
    const { opener, clock } = deps;
    this.#simulcast = new Simulcast({
      ...{ opener, clock, logger: this.#logger, audioOnly: settings.audioOnly },
      save: (change) => this.#save(change),
    });
  }

  get settings(): LiveSettings {
    return this.#settings;
  }

  get liveStreamId(): string {
    return this.#settings.liveStreamId;
  }

  /** Of its recording, once there is one. */
  get assetId(): string | undefined {
    return this.#assetId;
  }

  /** Nothing more is recorded. Its encoder may still be connected. */
  get isEnded(): boolean {
    return this.#ending !== undefined;
  }

  get recordedBytes(): number {
    return this.#recording?.sizeBytes ?? 0;
  }

  /** What its file does not have yet, because it was taken over. */
  get missingBytes(): number {
    return this.#recording?.missingBytes ?? 0;
  }

  /** What the end of the recording will add to its file, about. */
  get endBytes(): number {
    return this.missingBytes + (this.#recording?.durationSeconds ?? 0) * INDEX_BYTES_PER_SECOND;
  }

  /** Takes a publisher, unless another one is still sending. */
  connect(request: PublishRequest): Publication | Refusal {
    if (this.#publisher && !this.#publisher.isSilent(SILENT_MS))
      return { reason: 'in_use', message: 'Another encoder is sending to this live stream.' };
    this.#publisher?.close('Another encoder has taken over.');
    clearTimeout(this.#windowTimer);
    const publisher: Publisher = new Publisher(this.#settings.liveStreamId, request, this.#deps.clock, {
      packet: (packet, flvBody) => this.#receive(packet, flvBody),
      ended: () => this.#disconnected(publisher),
    });
    this.#publisher = publisher;
    this.#save(async (states, id) => {
      if (!(await states.connected(id, request.protocol))) publisher.close('The live stream is disabled.');
    });
    this.#simulcast.begin();
    // The slate goes on until there is something to show.
    if (this.#slate?.isPlaying) this.#slate.awaitContent();
    else if (this.#recording) this.#continue(this.#recording);
    return publisher;
  }

  /**
   * Continues the recording of a broadcast that a stop of this server has interrupted, or of
   * another one (`restores`). Encoders connect afterwards.
   */
  async resume(assetId: string, { isActive, times, subtitlesId, ...replica }: ResumedBroadcast): Promise<void> {
    this.#isActive = isActive;
    this.#subtitlesId = subtitlesId;
    this.#assetId = assetId;
    this.#times = new SessionTimes(times);
    this.#save((states, id) => states.disconnected(id, { recordingTimes: this.#times.all }));
    // The server was killed between the end of the recording and that of the broadcast.
    if (await this.#deps.blobs.stat(sourceKey(assetId))) {
      this.#ending = this.#endStored().catch((error: unknown) => this.#logUnsaved(error));
      return;
    }
    const opening = this.#open(assetId, this.#settings, replica);
    this.#opening = opening.then(() => undefined);
    // The caller gets it too.
    this.#opening.catch(() => undefined);
    const { durationSeconds, interruptedStartMs } = await opening;
    this.#times.endInterrupted(durationSeconds, interruptedStartMs);
    this.#waitForEncoder(Math.max(this.#settings.reconnectSeconds, LEAST_WINDOW_AFTER_RESTART_SECONDS));
    this.#limitDuration();
    this.#slate?.begin();
  }

  /**
   * Ends the recording now; resolves with true when that is saved. The encoder's connection is
   * closed a minute later, and what it sends until then is dropped.
   */
  complete(): Promise<boolean> {
    const publisher = this.#publisher;
    if (publisher) setTimeout(() => publisher.close('The live stream was completed.'), HOLD_AFTER_COMPLETE_MS).unref();
    return this.#end();
  }

  /** Closes the connection and ends the recording; resolves with true when that is saved. */
  stop(reason: string): Promise<boolean> {
    // Or else it would begin when the connection is closed.
    this.#stopSlate();
    this.#publisher?.close(reason);
    return this.#end();
  }

  /** Whether this is the stream key, as far as is known without the database. */
  hasKey(streamKey: string): boolean {
    return this.#keyHash === hashSecret(streamKey);
  }

  /** The key was replaced: only the database knows the new one. */
  forgetKey(): void {
    this.#keyHash = undefined;
  }

  /** Closes the connection; the recording waits for its encoder. */
  closeConnection(reason: string): void {
    this.#publisher?.close(reason);
  }

  /**
   * Before a restart of the server: the recording can be continued. True if other servers can, too.
   */
  async suspend(limitMs: number): Promise<boolean> {
    const wasEnded = this.isEnded;
    this.#ending ??= Promise.resolve();
    clearTimeout(this.#windowTimer);
    clearTimeout(this.#limitTimer);
    this.#stopSlate();
    if (this.#publisher && !wasEnded) this.#endSession();
    this.#publisher?.close('The server is restarting.');
    await Promise.all([this.#opening?.catch(() => undefined), this.#slate?.stop(), this.#simulcast.end()]);
    await this.#recording?.subtitles?.stop();
    const isReplicated = wasEnded ? this.#isEndSaved : await this.#recording?.suspend((limitMs * 2) / 3);
    await this.#deps.log.stop(limitMs);
    // Its end could not be saved: the next start tries again.
    if (wasEnded && !this.#isEndSaved) await this.#recording?.suspend();
    return isReplicated ?? true;
  }

  /**
   * Its encoder is away, and has come to another server, which continues. False if it is here, or
   * if the other server would miss something.
   */
  async handOver(): Promise<boolean> {
    const recording = this.#recording;
    const isHere = this.#publisher && !this.#publisher.isSilent(SILENT_MS);
    if (isHere || this.isEnded || !recording || !(await recording.catchUp(HAND_OVER_MS))) return false;
    // It may have come back, or the window may have ended meanwhile.
    if (this.isEnded || this.#publisher?.isSilent(SILENT_MS) === false) return false;
    if (!(await this.#deps.states.handOver(this.#settings.liveStreamId))) return false;
    const isReplicated = await this.suspend(HAND_OVER_MS);
    if (!isReplicated) this.#logger.warn({ asset_id: this.#assetId }, 'the end of a recording is not handed over');
    await this.abandon();
    return true;
  }

  /** It could not be opened, and is tried again as another object: changes are not saved here. */
  giveUp(): void {
    this.#isEndSaved = true;
    this.#ending ??= Promise.resolve();
    void this.#slate?.stop();
  }

  /** Another server has taken the broadcast over: it goes on there. */
  async abandon(): Promise<void> {
    if (this.#isEndSaved) return;
    this.#isEndSaved = true;
    this.#ending ??= Promise.resolve();
    clearTimeout(this.#windowTimer);
    clearTimeout(this.#limitTimer);
    this.#logger.info({ asset_id: this.#assetId }, 'live stream goes on at another server');
    this.#publisher?.close('Another server has taken over.');
    this.#deps.onLost();
    await Promise.all([this.#opening?.catch(() => undefined), this.#slate?.stop(), this.#simulcast.end()]);
    await this.#recording?.subtitles?.stop();
    await this.#recording?.discard();
    this.#checkGone();
  }

  #save<T>(change: (states: LiveStates, liveStreamId: string) => Promise<T>): void {
    const { states, log } = this.#deps;
    log
      .save(() => change(states, this.#settings.liveStreamId))
      .catch((error: unknown) => this.#logger.error({ err: error }, 'state of a live stream not saved'));
  }

  #receive(packet: IngestPacket, flvBody?: Uint8Array): void {
    if (this.isEnded) return;
    if (this.#settings.audioOnly && (packet.kind === 'video' || packet.kind === 'video-config')) return;
    this.#simulcast.write(packet, flvBody);
    if (this.#recording) {
      this.#record(this.#recording, packet);
      return;
    }
    this.#waiting.push(packet);
    this.#waitingBytes += PACKET_BYTES + ('data' in packet ? packet.data.length : 0);
    if (this.#waitingBytes > MAX_WAITING_BYTES) this.fail('overload', new Error('the asset was not created in time'));
    else if ('data' in packet)
      this.#opening ??= this.#begin().catch((error: unknown) =>
        this.fail(isNoSpace(error) ? 'disk_full' : 'error', error),
      );
  }

  #record(recording: Recording, packet: IngestPacket): void {
    if (!this.#slate?.isPlaying) {
      recording.write(packet);
      return;
    }
    const packets = this.#slate.hold(packet);
    if (!packets) return;
    this.#endSession();
    this.#continue(recording);
    for (const each of packets) recording.write(each);
  }

  /** The encoder has come back. */
  #continue(recording: Recording): void {
    this.#slate?.end();
    this.#beginSession(recording);
    const startedAt = this.#deps.clock.now();
    this.#save((states, id) => states.recording(id, { startedAt, recordingTimes: this.#times.all }));
  }

  /** The first frame has arrived: there is something to record. */
  async #begin(): Promise<void> {
    const { states, clock, log } = this.#deps;
    const startedAt = clock.now();
    const { liveStreamId } = this.#settings;
    // It may have ended while the database was unavailable: an asset would stay empty.
    const recorded = await log.save(async () =>
      this.isEnded ? undefined : states.recording(liveStreamId, { startedAt }),
    );
    if (!recorded) {
      this.#publisher?.close('The live stream is disabled.');
      return;
    }
    this.#assetId = recorded.assetId;
    const recording = await this.#open(recorded.assetId, recorded, { term: recorded.term, restores: false });
    if (this.isEnded) return;
    this.#beginSession(recording);
    for (const packet of this.#waiting.splice(0)) recording.write(packet);
    // It may have left meanwhile.
    if (!this.#publisher) this.#endSession();
    this.#limitDuration();
  }

  async #open(
    assetId: string,
    { nextSequence, nextDiscontinuity }: Pick<LiveSettings, 'nextSequence' | 'nextDiscontinuity'>,
    replica: Omit<ReplicaUse, 'store'>,
  ): Promise<Recording> {
    const { blobs, clock, replicas: store } = this.#deps;
    const { latencyMode, captions } = this.#settings;
    const recording: Recording = await Recording.open({
      ...{ blobs, clock, assetId, latencyMode, captions },
      logger: this.#logger,
      key: sourceKey(assetId),
      firstSequence: nextSequence,
      firstDiscontinuity: nextDiscontinuity,
      replica: store && { store, ...replica },
      events: {
        playable: () => {
          this.#activating = Promise.resolve().then(() => this.#activate(recording));
        },
        forcedCut: () => this.#warn(assetId, 'key_frame_interval', keyFrameAdvice(recording.times.targetSeconds)),
        problem: (reason) => this.#warn(assetId, 'unsupported_input', playersAdvice(reason)),
        failed: (failure, error) => this.fail(failure, error),
      },
    });
    this.#recording = recording;
    if (recording.isPlayable) await this.#activate(recording);
    return recording;
  }

  async #activate(recording: Recording): Promise<void> {
    // First, because a playlist must not get other renditions later.
    const { rungs, onPlayable } = this.#deps;
    await this.#openSubtitles(recording);
    const feed = await rungs.open(recording, {
      isTest: this.#settings.isTest,
      video: recording.probed,
      onProbed: (video) => recording.keepProbed(video),
    });
    onPlayable(feed, recording);
    this.#prepareSlate(recording);
    const tracks = recording.trackNames.map((name) => recording.track(name)!.info);
    const video = tracks.find(({ kind }) => kind === 'video');
    const audio = tracks.find(({ kind }) => kind === 'audio');
    this.#facts = {
      durationSeconds: recording.durationSeconds,
      ...(video && { video: { width: video.width!, height: video.height!, frameRate: video.frameRate ?? -1 } }),
      ...(audio && { audio: { channels: audio.channels! } }),
    };
    this.#save(() => this.#saveActive());
  }

  async #openSubtitles(recording: Recording): Promise<void> {
    const { subtitles } = this.#settings;
    const isContinued = this.#isActive;
    const trackId = isContinued ? this.#subtitlesId : newId();
    if (!subtitles || trackId === undefined) return;
    recording.subtitles = await this.#deps.subtitles.open({
      subtitles: { ...subtitles, trackId },
      isContinued,
      feed: recording,
      onChange: () => recording.notify(),
    });
  }

  /** Also called before the end, which may be saved first. */
  async #saveActive(): Promise<void> {
    if (this.#isActive || !this.#facts) return;
    await this.#deps.states.active(this.#settings.liveStreamId, this.#facts, this.#recording?.subtitles);
    this.#isActive = true;
  }

  #prepareSlate(recording: Recording): void {
    const { usesSlate, slateUrl, reconnectSeconds } = this.#settings;
    if (!usesSlate || this.isEnded) return;
    const { slates: maker, clock } = this.#deps;
    this.#slate = new Slate({
      ...{ maker, recording, clock },
      imageUrl: slateUrl,
      maxGapMs: Math.min(reconnectSeconds, MAX_FILLED_SECONDS) * 1000,
      logger: this.#logger,
      onBegin: (startedAt) => {
        this.#times.begin('slate', startedAt, recording.durationSeconds);
        this.#save((states, id) => states.slate(id, { recordingTimes: this.#times.all }));
      },
      onUnusable: (reason) => {
        const warning = { type: 'reconnect_slate', message: slateImageProblem(reason) };
        this.#save((states, id) => states.warnStream(id, warning));
      },
    });
    this.#slate.prepare();
    const isWaiting = !this.#publisher && this.#windowTimer !== undefined;
    if (isWaiting) this.#slate.begin();
  }

  /** It does not begin again. */
  #stopSlate(): void {
    if (this.#slate?.isPlaying) this.#endSession();
    void this.#slate?.stop();
  }

  #beginSession(recording: Recording): void {
    const startedAt = this.#deps.clock.now();
    recording.beginSession(startedAt.getTime(), 'content');
    this.#times.begin('content', startedAt, recording.durationSeconds);
  }

  /** Of the encoder or the slate. */
  #endSession(): void {
    const recording = this.#recording;
    if (!recording) return;
    if (this.#slate?.isPlaying) this.#slate.end();
    else recording.endSession();
    this.#times.end(recording.durationSeconds, recording.sessionStartMs);
  }

  #disconnected(publisher: Publisher): void {
    if (this.#publisher !== publisher) return;
    this.#publisher = undefined;
    void this.#simulcast.end();
    // A slate that is still played goes on.
    if (!this.isEnded && !this.#slate?.isPlaying) this.#endSession();
    this.#save((states, id) => states.disconnected(id, { recordingTimes: this.#times.all }));
    if (this.isEnded) {
      this.#checkGone();
      return;
    }
    this.#waitForEncoder(this.#settings.reconnectSeconds);
    this.#slate?.begin();
  }

  #waitForEncoder(seconds: number): void {
    this.#windowTimer = setTimeout(() => void this.#end(), seconds * 1000);
  }

  /** Of the recording, not counting the time without an encoder. */
  #limitDuration(): void {
    const leftSeconds = this.#settings.maxDurationSeconds - (this.#recording?.durationSeconds ?? 0);
    this.#limitTimer = setTimeout(() => void this.complete(), Math.max(0, leftSeconds) * 1000);
  }

  #warn(assetId: string, type: string, message: string): void {
    this.#save((states) => states.warn(assetId, { type, message }));
  }

  /** Ends the recording, and tells the owner and the encoder why. */
  fail(failure: RecordingFailure, error?: unknown): void {
    if (this.isEnded) return;
    const message = FAILURES[failure];
    this.#logger.error({ err: error, failure }, 'live stream can not be recorded any more');
    this.#save((states, id) => states.warnStream(id, { type: failure, message }));
    void this.stop(message);
  }

  async #end(): Promise<boolean> {
    this.#ending ??= this.#finish().catch((error: unknown) => this.#logUnsaved(error));
    await this.#ending;
    return this.#isEndSaved;
  }

  #logUnsaved(error: unknown): void {
    this.#logger.error({ err: error }, 'recording of a live stream not completed; a restart tries again');
  }

  /** What is not known any more is estimated: numbers of segments must only grow. */
  get #mostSegments(): number {
    return Math.ceil(this.#settings.maxDurationSeconds / LEAST_SEGMENT_SECONDS);
  }

  async #endStored(): Promise<void> {
    const { nextSequence, nextDiscontinuity } = this.#settings;
    this.#deps.onEnded();
    await this.#saveEnd(async () => ({
      durationSeconds: this.#times.totalSeconds,
      nextSequence: nextSequence + this.#mostSegments,
      nextDiscontinuity: nextDiscontinuity + this.#times.all.length + 1,
    }));
  }

  async #finish(): Promise<void> {
    clearTimeout(this.#windowTimer);
    clearTimeout(this.#limitTimer);
    this.#waiting = [];
    void this.#simulcast.end();
    this.#stopSlate();
    if (this.#publisher) this.#endSession();
    this.#deps.onEnded();
    await this.#saveEnd(async () => {
      await this.#opening;
      const recording = this.#recording;
      if (!recording) return { durationSeconds: 0 };
      await this.#activating;
      await this.#saveActive();
      const finished = await recording.finish();
      if (finished) await recording.subtitles?.finish();
      return {
        durationSeconds: finished?.durationSeconds ?? 0,
        nextSequence: recording.nextSequence + (recording.isTakenOver ? this.#mostSegments : 0),
        // The next broadcast does not continue this one.
        nextDiscontinuity: recording.discontinuities + 1,
      };
    });
  }

  /**
   * Completes the file and saves the end, which is tried again while the disk, the bucket or the
   * database is unavailable. Changes of the next broadcast wait for it.
   */
  async #saveEnd(
    complete: () => Promise<Pick<EndedBroadcast, 'durationSeconds'> & Partial<EndedBroadcast>>,
  ): Promise<void> {
    const { states, log } = this.#deps;
    const { liveStreamId, isTest } = this.#settings;
    const isLost = async (): Promise<boolean> => (await states.lost([this])).length > 0;
    await log.save(async () => {
      if (this.#isEndSaved) return;
      // Its file would replace that of the other server.
      if (await isLost()) return this.abandon();
      const completed = await complete();
      if (this.#assetId === undefined) return;
      const times = { recordingTimes: this.#times.content };
      const isEnded = await states.ended(liveStreamId, { ...completed, ...times }, { disables: isTest });
      if (!isEnded && (await isLost())) await this.abandon();
    });
    if (this.#isEndSaved) return;
    this.#isEndSaved = true;
    this.#checkGone();
    await Promise.all([this.#removeSlateImage(), this.#removeReplica()]);
  }

  async #removeSlateImage(): Promise<void> {
    if (this.#settings.slateUrl === undefined || this.#assetId === undefined) return;
    await this.#slate?.stop();
    try {
      await this.#deps.slates.removeImage(this.#assetId);
    } catch (error) {
      this.#logger.warn({ err: error, asset_id: this.#assetId }, 'slate image not removed');
    }
  }

  /** What fails is removed with the asset. */
  async #removeReplica(): Promise<void> {
    const { replicas } = this.#deps;
    if (!replicas || this.#assetId === undefined) return;
    try {
      await removeReplica(replicas, this.#assetId);
    } catch (error) {
      this.#logger.warn({ err: error, asset_id: this.#assetId }, 'replica of a recording not removed');
    }
  }

  #checkGone(): void {
    if (this.#isEndSaved && !this.#publisher) this.#deps.onGone();
  }
}
