import { opusSamples } from '../../media/codecs/opus.js';
import type { FedJob, MediaPool } from '../../pool/media-pool.js';
import type { AudioConfig, AudioPacket } from '../ingest.js';

const SAMPLE_RATE = 48_000;
const BIT_RATE = 128_000;
const FRAME_SAMPLES = 1024;
/** Of Opus packets that are sent to the media process at once. */
const BATCH_SAMPLES = 4800;
/** The process does not answer: about a minute of audio. */
const MAX_UNANSWERED = 600;
/** Rounding of timestamps is not a gap. */
const LEAST_GAP_SAMPLES = 120;

/** AAC-LC, 48 kHz, stereo (ISO/IEC 14496-3, 1.6.2.1). */
export const AAC_CONFIG: AudioConfig = { codec: 'aac', record: Uint8Array.of(0x11, 0x90) };

export interface OpusToAacEvents {
  /** `ticks` is when the frame begins, in samples of the RTP clock. */
  frame(ticks: number, data: AudioPacket['data']): void;
  failed(): void;
}

/** Encodes the audio of one WebRTC connection in a media process. */
export class OpusToAac {
  readonly #job: FedJob<'live-audio'>;
  #batch: (string | number)[] = [];
  #batchSamples = 0;
  #unanswered = 0;
  #startTicks: number | undefined;
  /** Where the next packet begins. */
  #endTicks: number | undefined;
  #frames = 0;

  constructor(pool: Pick<MediaPool, 'open'>, events: OpusToAacEvents) {
    this.#job = pool.open<'live-audio'>({ kind: 'live-audio', bitRate: BIT_RATE }, ({ frames }) => {
      this.#unanswered -= 1;
      for (const frame of frames) {
        events.frame(this.#startTicks! + this.#frames * FRAME_SAMPLES, Buffer.from(frame, 'base64'));
        this.#frames += 1;
      }
    });
    void this.#job.ended.then((failure) => {
      if (failure !== undefined) events.failed();
    });
  }

  /** False when the media process can't keep up. */
  push(ticks: number, opus: Buffer): boolean {
    this.#startTicks ??= ticks;
    this.#endTicks ??= ticks;
    const missing = ticks - this.#endTicks;
    if (missing > LEAST_GAP_SAMPLES) this.#batch.push(Math.min(missing, 10 * SAMPLE_RATE));
    const samples = opusSamples(opus);
    this.#batch.push(opus.toString('base64'));
    this.#endTicks = Math.max(ticks, this.#endTicks) + samples;
    this.#batchSamples += samples;
    if (this.#batchSamples >= BATCH_SAMPLES) this.#send();
    return this.#unanswered < MAX_UNANSWERED;
  }

  /** What it has still to say is dropped. */
  close(): Promise<void> {
    return this.#job.close();
  }

  #send(): void {
    this.#job.feed({ opus: this.#batch });
    this.#batch = [];
    this.#batchSamples = 0;
    this.#unanswered += 1;
  }
}
