import type { Clock } from '../../lib/clock.js';
import type { Logger } from '../../telemetry/logger.js';
import type { IngestPacket } from '../ingest.js';
import type { ContentFormat } from '../recording/packet-cutter.js';
import type { Recording } from '../recording/recording.js';
import { HeldPackets } from './held-packets.js';
import { explainImageFailure, type SlateMaker, type SlateMedia } from './slate-maker.js';
import { SlateSession } from './slate-session.js';

export interface SlateOptions {
  readonly maker: SlateMaker;
  readonly recording: Recording;
  /** `reconnect_slate_url`; the default image when absent. */
  readonly imageUrl: string | undefined;
  /** A longer time without recording, such as that of a stopped server, is not filled. */
  readonly maxGapMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The slate is being recorded; `startedAt` is the time of its first frame. */
  readonly onBegin: (startedAt: Date) => void;
  /** The image can't be used; called once. */
  readonly onUnusable: (reason: string) => void;
}

interface Made {
  readonly format: ContentFormat;
  readonly media: SlateMedia | undefined;
}

/**
 * The slate of a broadcast. It is made while the encoder still sends, so that it can be played as
 * soon as it is needed, and made again when the encoder came back with other settings.
 */
export class Slate {
  readonly #options: SlateOptions;
  readonly #stopped = new AbortController();
  #usesImage: boolean;
  #made: Made | undefined;
  #making: Promise<void> | undefined;
  /** The encoder is away. */
  #isWanted = false;
  #session: SlateSession | undefined;
  #held = new HeldPackets();

  constructor(options: SlateOptions) {
    this.#options = options;
    this.#usesImage = options.imageUrl !== undefined;
  }

  get isPlaying(): boolean {
    return this.#session !== undefined;
  }

  /** Makes the slate for what the encoder sends now. */
  prepare(): void {
    if (this.#stopped.signal.aborted || this.#isMade()) return;
    this.#making ??= this.#make().finally(() => {
      this.#making = undefined;
      if (this.#isWanted) this.begin();
    });
  }

  /** The encoder is away: plays as soon as the slate is made. */
  begin(): void {
    this.#isWanted = true;
    if (this.#session || this.#stopped.signal.aborted) return;
    if (!this.#isMade()) this.prepare();
    else if (this.#made!.media) this.#play(this.#made!.media);
  }

  /** Something else is going to be recorded. */
  end(): void {
    this.#isWanted = false;
    if (!this.#session) return;
    this.#session.stop();
    this.#session = undefined;
    this.#options.recording.endSession();
  }

  /**
   * Ends for good; resolves when nothing is being made any more. The image is kept for a server
   * that continues the broadcast.
   */
  async stop(): Promise<void> {
    this.end();
    this.#stopped.abort();
    await this.#making;
  }

  /** An encoder has connected while the slate is played. */
  awaitContent(): void {
    this.#held = new HeldPackets();
  }

  /**
   * What the encoder sends while the slate is played. Returns the packets to record when there is
   * something to show, and undefined before.
   */
  hold(packet: IngestPacket): IngestPacket[] | undefined {
    return this.#held.add(packet);
  }

  #isMade(): boolean {
    const { video, audio } = this.#options.recording.format;
    const last = this.#made?.format;
    return last !== undefined && isSame(last.video?.facts, video?.facts) && isSame(last.audio, audio);
  }

  async #make(): Promise<void> {
    const { recording, maker, imageUrl, logger } = this.#options;
    const { signal } = this.#stopped;
    const { format, assetId } = recording;
    try {
      if (this.#usesImage) {
        try {
          await maker.fetchImage(assetId, imageUrl!, signal);
          this.#made = { format, media: await maker.make(assetId, format, { usesImage: true, signal }) };
          return;
        } catch (error) {
          this.#reject(error);
        }
      }
      this.#made = { format, media: await maker.make(assetId, format, { usesImage: false, signal }) };
    } catch (error) {
      if (signal.aborted) return;
      // Content is joined then, as without a slate.
      this.#made = { format, media: undefined };
      logger.error({ err: error, asset_id: assetId }, 'slate not made');
    }
  }

  #reject(error: unknown): void {
    const reason = explainImageFailure(error);
    if (reason === undefined) throw error;
    this.#usesImage = false;
    this.#options.logger.warn({ err: error, asset_id: this.#options.recording.assetId }, 'slate image not used');
    this.#options.onUnusable(reason);
  }

  #play(media: SlateMedia): void {
    const { recording, clock, maxGapMs, onBegin } = this.#options;
    const nowMs = clock.now().getTime();
    const endMs = recording.endWallMs ?? nowMs;
    const gapMs = nowMs - endMs;
    const startMs = gapMs > maxGapMs ? nowMs : endMs;
    recording.beginSession(startMs, 'slate');
    onBegin(new Date(startMs));
    this.#session = new SlateSession({
      ...{ media, clock },
      behindMs: Math.max(0, nowMs - startMs),
      write: (packet) => recording.write(packet),
    });
  }
}

const isSame = (one: { record: Uint8Array } | undefined, other: { record: Uint8Array } | undefined): boolean =>
  one === other || (one !== undefined && other !== undefined && Buffer.compare(one.record, other.record) === 0);
