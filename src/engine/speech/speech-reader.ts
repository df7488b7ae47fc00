import type { Frame } from 'node-av/lib';
import { isKinoraError } from '../../lib/errors.js';
import type { SpeechSource } from '../../pool/protocol.js';
import { audioFrame, openAudioFilter, readSamples } from '../audio/reader.js';
import { failMedia } from '../ffmpeg/av.js';

/** The sample rate that speech detection and recognizers require. */
export const SPEECH_RATE = 16_000;
/** The length of audio in memory at a time: 12 MB of 48 kHz stereo. */
const BLOCK_SECONDS = 30;

/**
 * Passes on the audio of [startMs, endMs) in order, piece by piece, as 16 kHz mono. Damaged parts
 * become silence.
 * @throws KinoraError `media_failed` when nothing can be decoded
 */
export const readSpeech = (
  { source, audio }: SpeechSource,
  { startMs, endMs }: { readonly startMs: number; readonly endMs: number },
  each: (samples: Float32Array) => void,
): void => {
  const { sampleRate: rate, channels } = audio;
  using filter = openAudioFilter(
    `sample_rate=${rate}:sample_fmt=fltp:channel_layout=${channels === 1 ? 'mono' : 'stereo'}:time_base=1/${rate}`,
    `aresample=${SPEECH_RATE},aformat=sample_fmts=flt:channel_layouts=mono`,
  );
  const give = (frame: Frame): void => each(copySamples(frame));
  const until = Math.round((endMs * rate) / 1000);
  let isDecoded = false;
  for (let from = Math.round((startMs * rate) / 1000); from < until; from += BLOCK_SECONDS * rate) {
    const end = Math.min(until, from + BLOCK_SECONDS * rate);
    let planes: readonly Float32Array[];
    try {
      planes = readSamples(source, audio, from, end);
      isDecoded = true;
    } catch (error) {
      if (!isKinoraError(error, 'media_failed')) throw error;
      planes = Array.from({ length: channels }, () => new Float32Array(end - from));
    }
    using frame = audioFrame(planes, 0, end - from, rate);
    frame.pts = BigInt(from);
    filter.push(frame, give);
  }
  filter.push(null, give);
  if (!isDecoded) throw failMedia('read speech', 'no audio could be decoded');
};

/** Copies the samples because FFmpeg owns the frame's memory. */
const copySamples = (frame: Frame): Float32Array => {
  const samples = new Float32Array(frame.nbSamples);
  Buffer.from(samples.buffer).set((frame.data ?? [])[0]!.subarray(0, frame.nbSamples * 4));
  return samples;
};
