import type { Clock } from '../../lib/clock.js';
import { AAC_FRAME_SAMPLES } from '../../media/codecs/aac.js';
import type { IngestPacket } from '../ingest.js';
import type { SlateMedia } from './slate-maker.js';

export interface SlateSessionOptions {
  readonly media: SlateMedia;
  readonly clock: Clock;
  /** How much of it should have been played already. */
  readonly behindMs: number;
  readonly write: (packet: IngestPacket) => void;
}

/** A third of a part. */
const STEP_MS = 100;
/** The most that one step writes: hours of a stopped server don't block this one. */
const MAX_STEP_MS = 20_000;

/** Writes a slate as an encoder would send it: in real time, the same frames again and again. */
export class SlateSession {
  readonly #options: SlateSessionOptions;
  readonly #startMs: number;
  readonly #timer: NodeJS.Timeout;
  #videoFrames = 0;
  #audioFrames = 0;

  constructor(options: SlateSessionOptions) {
    const { media, clock, behindMs, write } = options;
    const { video, audio } = media;
    this.#options = options;
    this.#startMs = clock.monotonicMs() - behindMs;
    if (video) {
      write({ kind: 'metadata', frameRate: video.frameRate.num / video.frameRate.den });
      write({ kind: 'video-config', config: { codec: 'avc', record: video.record } });
    }
    if (audio) write({ kind: 'audio-config', config: { codec: 'aac', record: audio.record } });
    this.#timer = setInterval(() => this.#advance(), STEP_MS);
    this.#advance();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Writes the frames whose time has come. */
  #advance(): void {
    const { media, clock, write } = this.#options;
    const { video, audio } = media;
    const nextMs = (): { videoMs: number; audioMs: number } => ({
      videoMs: video ? (this.#videoFrames * 1000 * video.frameRate.den) / video.frameRate.num : Infinity,
      audioMs: audio ? (this.#audioFrames * 1000 * AAC_FRAME_SAMPLES) / audio.sampleRate : Infinity,
    });
    const { videoMs: firstVideoMs, audioMs: firstAudioMs } = nextMs();
    const untilMs = Math.min(clock.monotonicMs() - this.#startMs, Math.min(firstVideoMs, firstAudioMs) + MAX_STEP_MS);
    for (let next = nextMs(); Math.min(next.videoMs, next.audioMs) <= untilMs; next = nextMs()) {
      const { videoMs, audioMs } = next;
      if (videoMs <= audioMs) {
        const frame = this.#videoFrames % video!.frames.length;
        write({ kind: 'video', dtsMs: videoMs, compositionMs: 0, isKey: frame === 0, data: video!.frames[frame]! });
        this.#videoFrames += 1;
      } else {
        write({ kind: 'audio', dtsMs: audioMs, data: audio!.silence });
        this.#audioFrames += 1;
      }
    }
  }
}
