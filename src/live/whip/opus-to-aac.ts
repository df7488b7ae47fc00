import { AAC_FRAME_SAMPLES, audioSpecificConfig } from '../../media/codecs/aac.js';
import { opusSamples } from '../../media/codecs/opus.js';
import type { FedJob, MediaPool } from '../../pool/media-pool.js';
import type { LiveAudioOutput } from '../../pool/protocol.js';
import type { AudioConfig, AudioPacket } from '../ingest.js';

const SAMPLE_RATE = 48_000;
const BIT_RATE = 128_000;
/** Of Opus packets that are sent to the media process at once. */
const BATCH_SAMPLES = 4800;
/** The process does not answer: about a minute of audio. */
const MAX_UNANSWERED = 600;
/** In base64. A frame has at most 6,144 bits for each channel (ISO/IEC 14496-3, 4.5.3). */
const MAX_FRAME_CHARACTERS = 4096;
/** Rounding of timestamps is not a gap. */
const LEAST_GAP_SAMPLES = 120;

/** Gaps are filled with silence up to this length. */
const MAX_GAP_SAMPLES = 10 * SAMPLE_RATE;

export const AAC_CONFIG: AudioConfig = { codec: 'aac', record: audioSpecificConfig(SAMPLE_RATE, 2) };

export interface OpusToAacEvents {
  /** `ticks` is when the frame begins, in samples of the RTP clock. */
  frame(ticks: number, data: AudioPacket['data']): void;
  failed(): void;
}

/** Encodes the audio of one WebRTC connection in a media process. */
export class OpusToAac {
  readonly #events: OpusToAacEvents;
  readonly #job: FedJob<'live-audio'>;
  #batch: (string | number)[] = [];
  #batchSamples = 0;
  #unanswered = 0;
  #startTicks: number | undefined;
  /** Where the next packet begins. */
  #endTicks: number | undefined;
  #frames = 0;
  #isClosed = false;

  constructor(pool: Pick<MediaPool, 'open'>, events: OpusToAacEvents) {
    this.#events = events;
    this.#job = pool.open<'live-audio'>({ kind: 'live-audio', bitRate: BIT_RATE }, (output) => this.#receive(output));
    void this.#job.ended.then((failure) => {
      if (failure !== undefined && !this.#isClosed) events.failed();
    });
  }

  /** Whether a packet at this time belongs to the same audio, perhaps after a gap. */
  isContinuedAt(ticks: number): boolean {
    return this.#endTicks === undefined || Math.abs(ticks - this.#endTicks) <= MAX_GAP_SAMPLES;
  }

  /** False when the media process can't keep up. `ticks` are continued (`isContinuedAt`). */
  push(ticks: number, opus: Buffer): boolean {
    this.#startTicks ??= ticks;
    this.#endTicks ??= ticks;
    const missing = ticks - this.#endTicks;
    if (missing > LEAST_GAP_SAMPLES) this.#batch.push(missing);
    const samples = opusSamples(opus);
    this.#batch.push(opus.toString('base64'));
    this.#endTicks = Math.max(ticks, this.#endTicks) + samples;
    this.#batchSamples += samples;
    if (this.#batchSamples >= BATCH_SAMPLES) this.#send();
    return this.#unanswered < MAX_UNANSWERED;
  }

  /** What it has still to say is dropped. */
  close(): Promise<void> {
    this.#isClosed = true;
    return this.#job.close();
  }

  /** Malicious audio may control the process: it says nothing that was not asked for. */
  #receive({ frames }: LiveAudioOutput): void {
    if (this.#isClosed) return;
    const expected = ((this.#endTicks ?? 0) - (this.#startTicks ?? 0)) / AAC_FRAME_SAMPLES;
    const isFrame = (frame: unknown): boolean => typeof frame === 'string' && frame.length <= MAX_FRAME_CHARACTERS;
    const isValid = Array.isArray(frames) && this.#frames + frames.length <= expected && frames.every(isFrame);
    if (!isValid || this.#unanswered === 0) {
      this.#events.failed();
      return;
    }
    this.#unanswered -= 1;
    for (const frame of frames) {
      this.#events.frame(this.#startTicks! + this.#frames * AAC_FRAME_SAMPLES, Buffer.from(frame, 'base64'));
      this.#frames += 1;
    }
  }

  #send(): void {
    this.#job.feed({ opus: this.#batch });
    this.#batch = [];
    this.#batchSamples = 0;
    this.#unanswered += 1;
  }
}
