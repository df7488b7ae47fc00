import type { RecordingTime } from '../db/schema.js';
import type { LiveSettings } from '../domain/live/live-settings.js';
import type { LiveStates } from '../domain/live/live-states.js';
import type { LiveFeed } from '../domain/playback/live-feed.js';
import type { Clock } from '../lib/clock.js';
import type { BlobStore } from '../storage/blob-store.js';
import { sourceKey } from '../storage/keys.js';
import type { Logger } from '../telemetry/logger.js';
import type { IngestPacket, Publication, PublishRequest, Refusal } from './ingest.js';
import { Recording } from './recording/recording.js';
import type { RecordingFailure } from './recording/recording-writer.js';
import type { LiveRungs } from './rungs/live-rungs.js';
import { StateLog } from './state-log.js';

export interface BroadcastDeps {
  readonly states: LiveStates;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly rungs: LiveRungs;
  /** Players can start to read the broadcast. */
  readonly onPlayable: (feed: LiveFeed) => void;
  /** The recording has ended; packets and publishers of the broadcast are dropped from now on. */
  readonly onEnded: () => void;
}

/** A publisher that is silent for longer than this gives way to another one with the same key. */
const SILENT_MS = 3000;
/** An encoder that reconnects by itself after `complete` would begin another recording. */
const HOLD_AFTER_COMPLETE_MS = 60_000;
/** After a restart of the server, encoders get at least this long to come back. */
const LEAST_WINDOW_AFTER_RESTART_SECONDS = 60;
/** No segment is shorter, but at the end of a session. */
const LEAST_SEGMENT_SECONDS = 0.5;
/** Packets that wait until the asset is created. */
const MAX_WAITING_BYTES = 16 * 2 ** 20;

const FAILURES: Record<RecordingFailure, string> = {
  overload: 'The server can not keep up with the encoder.',
  disk_full: 'The disk of the server is full.',
  error: 'The server can not record the live stream.',
};

const keyFrameAdvice = (targetSeconds: number): string =>
  `The encoder sends no key frame for more than ${targetSeconds} s, so players start late. Set its key frame interval to 2 s.`;

const playersAdvice = (reason: string): string =>
  `Not every player can play the video of the encoder: ${reason}. Set it to H.264 with the profile main.`;

/**
 * A live stream on air: from its first publisher to the end of the last one's reconnect window.
 * Makes one asset. Packets never wait for the database; changes of state are saved in their order.
 */
export class Broadcast {
  readonly #deps: BroadcastDeps;
  readonly #settings: LiveSettings;
  readonly #logger: Logger;
  readonly #log: StateLog;
  readonly #times: RecordingTime[] = [];
  /** Seconds of the recording at the start of the current session. */
  #sessionStart = 0;
  #publisher: Publisher | undefined;
  #recording: Recording | undefined;
  #opening: Promise<void> | undefined;
  #waiting: IngestPacket[] = [];
  #waitingBytes = 0;
  #windowTimer: NodeJS.Timeout | undefined;
  #limitTimer: NodeJS.Timeout | undefined;
  #ending: Promise<void> | undefined;
  #isActive = false;

  constructor(deps: BroadcastDeps, settings: LiveSettings) {
    this.#deps = deps;
    this.#settings = settings;
    this.#logger = deps.logger.child({ live_stream_id: settings.liveStreamId });
    this.#log = new StateLog(this.#logger);
  }

  /** Takes a publisher, unless another one is still sending. */
  connect(request: PublishRequest): Publication | Refusal {
    if (this.#publisher && !this.#publisher.isSilent(SILENT_MS))
      return { reason: 'in_use', message: 'Another encoder is sending to this live stream.' };
    this.#publisher?.close('Another encoder has taken over.');
    clearTimeout(this.#windowTimer);
    const publisher: Publisher = new Publisher(request, this.#deps.clock, {
      packet: (packet) => this.#receive(packet),
      ended: () => this.#disconnected(publisher),
    });
    this.#publisher = publisher;
    this.#save(async (states, id) => {
      if (!(await states.connected(id, request.protocol))) publisher.close('The live stream is disabled.');
    });
    if (this.#recording) {
      this.#beginSession(this.#recording);
      this.#save((states, id) => states.recording(id, { startedAt: this.#deps.clock.now() }));
    }
    return publisher;
  }

  /** Continues the recording of a broadcast that a stop of the server has interrupted. */
  async resume(
    assetId: string,
    { isActive, times }: { isActive: boolean; times: readonly RecordingTime[] },
  ): Promise<void> {
    this.#isActive = isActive;
    this.#times.push(...times);
    // The server was killed between the end of the recording and that of the broadcast.
    if (await this.#deps.blobs.stat(sourceKey(assetId))) {
      this.#ending = this.#endStored();
      return;
    }
    await this.#open(assetId);
    this.#save((states, id) => states.disconnected(id, { recordingTimes: this.#times }));
    this.#waitForEncoder(Math.max(this.#settings.reconnectSeconds, LEAST_WINDOW_AFTER_RESTART_SECONDS));
    this.#limitDuration();
  }

  /**
   * Ends the recording now. The encoder's connection is closed a minute later, and what it sends
   * until then is dropped.
   */
  async complete(): Promise<void> {
    const publisher = this.#publisher;
    await this.#end();
    if (publisher) setTimeout(() => publisher.close('The live stream was completed.'), HOLD_AFTER_COMPLETE_MS).unref();
  }

  /** Closes the connection and ends the recording. */
  async stop(reason: string): Promise<void> {
    this.#publisher?.close(reason);
    await this.#end();
  }

  /** Closes the connection; the recording waits for its encoder. */
  closeConnection(reason: string): void {
    this.#publisher?.close(reason);
  }

  /** Before a restart of the server: the recording can be continued. */
  async suspend(limitMs: number): Promise<void> {
    this.#ending ??= Promise.resolve();
    clearTimeout(this.#windowTimer);
    clearTimeout(this.#limitTimer);
    this.#publisher?.close('The server is restarting.');
    await this.#opening?.catch(() => undefined);
    await this.#recording?.suspend();
    await this.#log.stop(limitMs);
  }

  get #isEnded(): boolean {
    return this.#ending !== undefined;
  }

  #save<T>(change: (states: LiveStates, liveStreamId: string) => Promise<T>): void {
    const { states } = this.#deps;
    this.#log
      .save(() => change(states, this.#settings.liveStreamId))
      .catch((error: unknown) => this.#logger.error({ err: error }, 'state of a live stream not saved'));
  }

  #receive(packet: IngestPacket): void {
    if (this.#isEnded) return;
    if (this.#settings.audioOnly && (packet.kind === 'video' || packet.kind === 'video-config')) return;
    if (this.#recording) {
      this.#recording.write(packet);
      return;
    }
    this.#waiting.push(packet);
    if (packet.kind !== 'video' && packet.kind !== 'audio') return;
    this.#waitingBytes += packet.data.length;
    if (this.#waitingBytes > MAX_WAITING_BYTES) this.#fail('overload', new Error('the asset was not created in time'));
    else this.#opening ??= this.#begin().catch((error: unknown) => this.#fail('error', error));
  }

  /** The first frame has arrived: there is something to record. */
  async #begin(): Promise<void> {
    const { states, clock } = this.#deps;
    const startedAt = clock.now();
    const { liveStreamId } = this.#settings;
    const recorded = await this.#log.save(() => states.recording(liveStreamId, { startedAt }));
    if (!recorded) {
      this.#publisher?.close('The live stream is disabled.');
      return;
    }
    const recording = await this.#open(recorded.assetId);
    this.#beginSession(recording);
    for (const packet of this.#waiting.splice(0)) recording.write(packet);
    this.#limitDuration();
  }

  async #open(assetId: string): Promise<Recording> {
    const { blobs, clock } = this.#deps;
    const { latencyMode, nextSequence, nextDiscontinuity } = this.#settings;
    const recording: Recording = await Recording.open({
      ...{ blobs, clock, assetId, latencyMode },
      logger: this.#logger,
      key: sourceKey(assetId),
      firstSequence: nextSequence,
      firstDiscontinuity: nextDiscontinuity,
      events: {
        playable: () => queueMicrotask(() => void this.#activate(recording)),
        firstFrame: () => undefined,
        forcedCut: () => this.#warn(assetId, 'key_frame_interval', keyFrameAdvice(recording.times.targetSeconds)),
        problem: (reason) => this.#warn(assetId, 'unsupported_input', playersAdvice(reason)),
        failed: (failure, error) => this.#fail(failure, error),
      },
    });
    this.#recording = recording;
    if (recording.isPlayable) await this.#activate(recording);
    return recording;
  }

  async #activate(recording: Recording): Promise<void> {
    // First, because a playlist must not get other renditions later.
    const { rungs, onPlayable } = this.#deps;
    onPlayable(await rungs.open(recording, { isTest: this.#settings.isTest }));
    if (this.#isActive) return;
    this.#isActive = true;
    const tracks = recording.trackNames.map((name) => recording.track(name)!.info);
    const video = tracks.find(({ kind }) => kind === 'video');
    const audio = tracks.find(({ kind }) => kind === 'audio');
    const facts = {
      durationSeconds: recording.durationSeconds,
      ...(video && { video: { width: video.width!, height: video.height!, frameRate: video.frameRate ?? -1 } }),
      ...(audio && { audio: { channels: audio.channels! } }),
    };
    this.#save((states, id) => states.active(id, facts));
  }

  #beginSession(recording: Recording): void {
    recording.beginSession(this.#deps.clock.now().getTime(), 'content');
    this.#sessionStart = recording.durationSeconds;
    this.#times.push({ started_at: this.#deps.clock.now().toISOString(), duration: 0, type: 'content' });
  }

  #endSession(): void {
    const recording = this.#recording;
    const last = this.#times.at(-1);
    if (!recording || !last) return;
    recording.endSession();
    const duration = Math.round((recording.durationSeconds - this.#sessionStart) * 1000) / 1000;
    this.#times[this.#times.length - 1] = { ...last, duration };
  }

  #disconnected(publisher: Publisher): void {
    if (this.#publisher !== publisher) return;
    this.#publisher = undefined;
    if (this.#isEnded) {
      this.#save((states, id) => states.disconnected(id, { recordingTimes: this.#times }));
      return;
    }
    this.#endSession();
    this.#save((states, id) => states.disconnected(id, { recordingTimes: this.#times }));
    this.#waitForEncoder(this.#settings.reconnectSeconds);
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

  #fail(failure: RecordingFailure, error: unknown): void {
    this.#logger.error({ err: error, failure }, 'live stream can not be recorded any more');
    this.#publisher?.close(FAILURES[failure]);
    void this.#end();
  }

  #end(): Promise<void> {
    this.#ending ??= this.#finish().catch((error: unknown) => {
      this.#logger.error({ err: error }, 'recording of a live stream not completed; a restart tries again');
    });
    return this.#ending;
  }

  /** What is not known any more is estimated: numbers of segments must only grow. */
  async #endStored(): Promise<void> {
    const { nextSequence, nextDiscontinuity, liveStreamId } = this.#settings;
    const durationSeconds = this.#times.reduce((sum, { duration = 0 }) => sum + duration, 0);
    const mostSegments = Math.ceil(this.#settings.maxDurationSeconds / LEAST_SEGMENT_SECONDS);
    this.#deps.onEnded();
    await this.#deps.states.ended(liveStreamId, {
      durationSeconds,
      recordingTimes: this.#times,
      nextSequence: nextSequence + mostSegments,
      nextDiscontinuity: nextDiscontinuity + this.#times.length + 1,
    });
  }

  async #finish(): Promise<void> {
    clearTimeout(this.#windowTimer);
    clearTimeout(this.#limitTimer);
    this.#waiting = [];
    if (this.#publisher) this.#endSession();
    this.#deps.onEnded();
    await this.#opening;
    const recording = this.#recording;
    if (!recording) return;
    const finished = await recording.finish();
    const ended = {
      durationSeconds: finished?.durationSeconds ?? 0,
      recordingTimes: this.#times,
      nextSequence: recording.nextSequence,
      // The next broadcast does not continue this one.
      nextDiscontinuity: recording.discontinuities + 1,
    };
    const { states } = this.#deps;
    const { liveStreamId, isTest } = this.#settings;
    await this.#log.save(() => states.ended(liveStreamId, ended, { disables: isTest }));
  }
}

interface PublisherEvents {
  packet(packet: IngestPacket): void;
  ended(): void;
}

/** One connection of an encoder. */
class Publisher implements Publication {
  readonly #request: PublishRequest;
  readonly #clock: Clock;
  readonly #events: PublisherEvents;
  #lastMs: number;
  #hasEnded = false;

  constructor(request: PublishRequest, clock: Clock, events: PublisherEvents) {
    this.#request = request;
    this.#clock = clock;
    this.#events = events;
    this.#lastMs = clock.monotonicMs();
  }

  isSilent(limitMs: number): boolean {
    return this.#clock.monotonicMs() - this.#lastMs > limitMs;
  }

  write(packet: IngestPacket): void {
    this.#lastMs = this.#clock.monotonicMs();
    if (!this.#hasEnded) this.#events.packet(packet);
  }

  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#events.ended();
  }

  close(reason: string): void {
    this.#request.disconnect(reason);
    this.end();
  }
}
