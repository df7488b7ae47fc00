import { fileURLToPath } from 'node:url';
import type { Vad } from 'sherpa-onnx-node';
import type { Span } from '../../media/speech/pack-windows.js';
import type { FindSpeechJob, FindSpeechResult } from '../../pool/protocol.js';
import { failMedia } from '../ffmpeg/av.js';
import type { HandlerContext } from '../ipc/serve-jobs.js';
import { readSpeech, SPEECH_RATE } from './speech-reader.js';

/** The number of samples that the model processes at a time. */
const STEP = 512;
const BUFFER_SECONDS = 60;
/**
 * Speech without a pause is split into spans of about this length, which fit into a window with
 * their padding.
 */
const MAX_SPEECH_SECONDS = 28;
/**
 * Speech that begins this close to the start of a part and does not end in it is no longer left to
 * the next part.
 */
const NEAR_START_MS = 1000;

let detector: Promise<Vad> | undefined;

/** Loads 32 MB, so it is loaded only when needed. */
const loadDetector = async (): Promise<Vad> => {
  const { default: library } = await import('sherpa-onnx-node').catch((error: unknown) => {
    throw failMedia('find speech', `speech detection cannot be loaded here: ${String(error)}`);
  });
  const sileroVad = {
    model: fileURLToPath(new URL('./silero-vad.onnx', import.meta.url)),
    threshold: 0.5,
    minSilenceDuration: 0.3,
    minSpeechDuration: 0.1,
    maxSpeechDuration: MAX_SPEECH_SECONDS,
    windowSize: STEP,
  };
  return new library.Vad({ sileroVad, sampleRate: SPEECH_RATE, numThreads: 1 }, BUFFER_SECONDS);
};

/** @throws KinoraError `media_failed` */
export const findSpeech = async (job: FindSpeechJob, context: HandlerContext): Promise<FindSpeechResult> => {
  detector ??= loadDetector();
  const vad = await detector;
  vad.reset();
  const spans: Span[] = [];
  const toMs = (sample: number): number => Math.round(job.startMs + (sample * 1000) / SPEECH_RATE);
  const drain = (): void => {
    for (; !vad.isEmpty(); vad.pop()) {
      const { start, samples } = vad.front(false);
      const span = { startMs: toMs(start), endMs: Math.min(job.endMs, toMs(start + samples.length)) };
      if (span.endMs > span.startMs) spans.push(span);
    }
  };
  const step = new Float32Array(STEP);
  let filled = 0;
  let read = 0;
  readSpeech(job, job, (samples) => {
    for (let at = 0; at < samples.length; ) {
      const count = Math.min(STEP - filled, samples.length - at);
      step.set(samples.subarray(at, at + count), filled);
      filled += count;
      at += count;
      if (filled < STEP) break;
      vad.acceptWaveform(step);
      drain();
      filled = 0;
    }
    read += samples.length;
    context.progress((read * 1000) / SPEECH_RATE / (job.endMs - job.startMs));
  });
  const continues = job.more && vad.isDetected();
  vad.flush();
  const complete = spans.length;
  drain();
  const open = continues && spans.length > complete ? spans.at(-1) : undefined;
  if (!open || open.startMs - job.startMs < NEAR_START_MS) return { spans, nextMs: job.endMs };
  return { spans: spans.slice(0, -1), nextMs: open.startMs };
};
