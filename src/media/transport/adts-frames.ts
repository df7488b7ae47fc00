import { AAC_FRAME_SAMPLES, audioSpecificConfig } from '../codecs/aac.js';
import { ADTS_HEADER_BYTES, type AdtsHeader, readAdtsHeader } from '../codecs/adts.js';

const TICKS_PER_SECOND = 90_000;
const AAC_LC = 2;
const MAX_CHANNELS = 6;

export interface AacFrame {
  /** When it begins, in ticks of 90 kHz. */
  readonly ticks: number;
  /** AudioSpecificConfig. */
  readonly record: Uint8Array;
  /** Without its header. */
  readonly data: Uint8Array;
}

/** Takes AAC apart whose frames have ADTS headers; a frame may go on in the next packet. */
export class AdtsFrames {
  #rest: Uint8Array = new Uint8Array(0);
  #nextTicks: number | undefined;
  /** Until another header follows a frame, what looks like a header may be data. */
  #isConfirmed = false;

  /** Data is missing. */
  lose(): void {
    this.#rest = new Uint8Array(0);
    this.#nextTicks = undefined;
    this.#isConfirmed = false;
  }

  /**
   * @param ticks when the first frame begins that begins in `bytes`; undefined if that is not said
   * @returns the frames that are complete, or why they can't be recorded
   */
  push(bytes: Uint8Array, ticks: number | undefined): AacFrame[] | string {
    const restBytes = this.#rest.length;
    const all = restBytes > 0 ? Buffer.concat([this.#rest, bytes]) : bytes;
    const frames: AacFrame[] = [];
    let isTimed = ticks === undefined;
    let at = 0;
    while (at + ADTS_HEADER_BYTES <= all.length) {
      const header = readAdtsHeader(all, at);
      if (!header) {
        at += 1;
        continue;
      }
      const { channelConfiguration: channels, sampleRate, frameBytes, headerBytes } = header;
      const problem = findProblem(header);
      this.#isConfirmed ||= at + frameBytes === all.length || readAdtsHeader(all, at + frameBytes) !== undefined;
      if (problem !== undefined && this.#isConfirmed) return problem;
      if (problem !== undefined) {
        at += 1;
        continue;
      }
      if (at + frameBytes > all.length) break;
      if (!isTimed && at >= restBytes) {
        isTimed = true;
        this.#nextTicks = ticks;
      }
      if (this.#nextTicks !== undefined) {
        const record = audioSpecificConfig(sampleRate, channels);
        frames.push({ ticks: this.#nextTicks, record, data: all.subarray(at + headerBytes, at + frameBytes) });
        this.#nextTicks += (AAC_FRAME_SAMPLES * TICKS_PER_SECOND) / sampleRate;
      }
      at += frameBytes;
    }
    // The time of a frame that goes on in the next packet.
    if (!isTimed && at >= restBytes) this.#nextTicks = ticks;
    this.#rest = Uint8Array.from(all.subarray(at));
    return frames;
  }
}

/** Why frames with this header can't be recorded. */
const findProblem = ({ objectType, channelConfiguration: channels, hasMoreBlocks }: AdtsHeader): string | undefined => {
  if (objectType !== AAC_LC) return `The audio is AAC of kind ${objectType}. Set the audio encoder to AAC-LC.`;
  if (channels === 0 || channels > MAX_CHANNELS || hasMoreBlocks)
    return 'The audio is AAC in a form that can not be read. Set the audio encoder to AAC-LC with at most 6 channels.';
  return undefined;
};
