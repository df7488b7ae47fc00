import { AV_BUFFERSRC_FLAG_KEEP_REF } from 'node-av/constants';
import { type FilterContext, FilterGraph, type Frame } from 'node-av/lib';
import { isKinoraError } from '../lib/errors.js';
import { AAC_FRAME_SAMPLES } from '../media/aac.js';
import type { LoudnessJob, LoudnessResult } from '../pool/protocol.js';
import { readSound, soundFrame } from './audio-reader.js';
import { check, failMedia, isDrained, newFrame } from './av.js';

/** EBU R128: nothing below this counts, and silence measures as this. */
const SILENCE_LUFS = -70;
/** Below every sample that 24 bits can hold. */
const SILENCE_DBTP = -150;
/** Sound that is read at once; every reading opens the source. */
const BLOCK_SECONDS = 60;
/** The meter takes frames of any length. */
const FRAME_SAMPLES = 4800;

/**
 * Integrated loudness and true peak of a track (ITU-R BS.1770, EBU R128).
 * @throws KinoraError `media_failed`
 */
export const measureLoudness = ({ source, audio, endFrame }: LoudnessJob): LoudnessResult => {
  const { sampleRate, channels } = audio;
  const endSample = endFrame * AAC_FRAME_SAMPLES;
  const blockSamples = BLOCK_SECONDS * sampleRate;
  const meter = new Meter(sampleRate, channels);
  let measured = false;
  try {
    for (let from = 0; from < endSample; from += blockSamples) {
      const until = Math.min(from + blockSamples, endSample);
      let planes: readonly Float32Array[];
      try {
        planes = readSound(source, audio, from, until);
      } catch (error) {
        // A damaged part is left out: the measure of the rest still holds.
        if (!isKinoraError(error, 'media_failed')) throw error;
        continue;
      }
      measured = true;
      for (let at = 0; at < until - from; at += FRAME_SAMPLES) {
        const frame = soundFrame(planes, at, Math.min(FRAME_SAMPLES, until - from - at), sampleRate);
        meter.add(frame);
        frame.free();
      }
    }
    if (!measured) throw failMedia('measure loudness', 'no sound could be decoded');
    return meter.finish();
  } finally {
    meter.free();
  }
};

/** The `ebur128` filter; it writes what it has measured so far into each frame that passes. */
class Meter {
  readonly #graph = new FilterGraph();
  readonly #source: FilterContext;
  readonly #sink: FilterContext;
  readonly #out = newFrame();
  #integrated = SILENCE_LUFS;
  #truePeak = 0;

  constructor(sampleRate: number, channels: 1 | 2) {
    this.#graph.alloc();
    const input = `sample_rate=${sampleRate}:sample_fmt=fltp:channel_layout=${channels === 1 ? 'mono' : 'stereo'}`;
    const chain = 'ebur128=peak=true:metadata=1:framelog=quiet';
    check(this.#graph.parsePtr(`abuffer@in=${input}:time_base=1/${sampleRate},${chain},abuffersink@out`), 'loudness');
    check(this.#graph.configSync(), 'loudness');
    this.#source = this.#graph.getFilter('abuffer@in') as FilterContext;
    this.#sink = this.#graph.getFilter('abuffersink@out') as FilterContext;
  }

  add(frame: Frame | null): void {
    check(this.#source.buffersrcAddFrameSync(frame, AV_BUFFERSRC_FLAG_KEEP_REF), 'loudness');
    for (;;) {
      const code = this.#sink.buffersinkGetFrameSync(this.#out);
      if (isDrained(code)) return;
      check(code, 'loudness');
      this.#read();
      this.#out.unref();
    }
  }

  finish(): LoudnessResult {
    this.add(null);
    const integrated = Math.max(SILENCE_LUFS, this.#integrated);
    return { integrated, truePeak: this.#truePeak > 0 ? 20 * Math.log10(this.#truePeak) : SILENCE_DBTP };
  }

  free(): void {
    this.#out.free();
    this.#graph.free();
  }

  #read(): void {
    const metadata = this.#out.getMetadata();
    const values = metadata.getAll();
    metadata.free();
    const integrated = Number(values['lavfi.r128.I']);
    if (Number.isFinite(integrated)) this.#integrated = integrated;
    // Peaks are of one frame and channel, as amplitudes.
    for (const [key, value] of Object.entries(values)) {
      if (key.startsWith('lavfi.r128.true_peak')) this.#truePeak = Math.max(this.#truePeak, Number(value) || 0);
    }
  }
}
