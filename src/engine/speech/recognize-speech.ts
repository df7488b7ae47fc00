import { readFileSync } from 'node:fs';
import { AV_LOG_DEBUG, AV_LOG_QUIET, AV_SAMPLE_FMT_FLT } from 'node-av/constants';
import { avChannelLayoutDefault, Frame, Log } from 'node-av/lib';
import { languageCodeOf } from '../../media/speech/languages.js';
import type { Transcript, Word } from '../../media/speech/word.js';
import type { RecognizeSpeechJob } from '../../pool/protocol.js';
import { MediaFilter } from '../ffmpeg/media-filter.js';
import { SPEECH_RATE } from './speech-reader.js';

const HEADER_BYTES = 44;
/**
 * A tenth of a second: frames of this size exactly fill a queue of 30 s, the length that the model
 * processes.
 */
const FRAME_SAMPLES = 1600;
const QUEUE_SECONDS = 30;

/**
 * Runs FFmpeg's `whisper` filter on one thread. The library reports the language only in its debug
 * log.
 * @throws KinoraError `media_failed`
 */
export const recognizeSpeech = async (job: RecognizeSpeechJob): Promise<Transcript> => {
  let detected: { language: string; confidence: number } | undefined;
  Log.setLevel(AV_LOG_DEBUG);
  Log.setCallback(
    (_level, message) => {
      const [, name = '', share = ''] = /auto-detected language: (\S+) \(p = ([\d.]+)\)/.exec(message) ?? [];
      const language = languageCodeOf(name);
      if (language) detected = { language, confidence: Math.min(1, Number(share)) };
    },
    { maxLevel: AV_LOG_DEBUG },
  );
  try {
    runFilter(job);
    // The binding forwards log lines between turns of the event loop.
    await new Promise((resolve) => setTimeout(resolve, 50));
  } finally {
    Log.resetCallback();
    Log.setLevel(AV_LOG_QUIET);
  }
  return { ...detected, words: readWords(readFileSync(job.outPath, 'utf8')) };
};

const runFilter = ({ audioPath, modelPath, outPath, language }: RecognizeSpeechJob): void => {
  const options = [
    `model=${quote(modelPath)}`,
    `destination=${quote(outPath)}`,
    `language=${quote(language)}`,
    `queue=${QUEUE_SECONDS}`,
    'use_gpu=0:format=json:max_len=1',
  ].join(':');
  const input = `sample_rate=${SPEECH_RATE}:sample_fmt=flt:channel_layout=mono:time_base=1/${SPEECH_RATE}`;
  using filter = new MediaFilter(`abuffer@in=${input},whisper=${options},abuffersink@out`, {
    operation: 'recognize speech',
    building: 'load the speech model',
    threads: 1,
  });
  // The text is in the file; the audio output is not used.
  const ignore = (): void => undefined;
  const wave = readFileSync(audioPath).subarray(HEADER_BYTES);
  for (let at = 0; at * 2 < wave.length; at += FRAME_SAMPLES) {
    using frame = frameOf(wave, at);
    filter.push(frame, ignore);
  }
  filter.push(null, ignore);
};

const frameOf = (wave: Buffer, at: number): Frame => {
  const count = Math.min(FRAME_SAMPLES, wave.length / 2 - at);
  const samples = Float32Array.from({ length: count }, (_, index) => wave.readInt16LE((at + index) * 2) / 32_768);
  return Frame.fromAudioBuffer(Buffer.from(samples.buffer), {
    nbSamples: count,
    format: AV_SAMPLE_FMT_FLT,
    sampleRate: SPEECH_RATE,
    channelLayout: avChannelLayoutDefault(1),
    timeBase: { num: 1, den: SPEECH_RATE },
    pts: BigInt(at),
  });
};

/** An option value in a filter graph: escaped for the filter, then quoted for the graph. */
const quote = (value: string): string => {
  const escaped = value.replace(/[\\':]/g, '\\$&');
  return `'${escaped.replaceAll("'", "'\\''")}'`;
};

/**
 * There is one line per word. Lines look like JSON, but quotation marks in the text are not
 * escaped.
 */
const readWords = (lines: string): Word[] =>
  lines.split('\n').flatMap((line) => {
    const [, start, end, text = ''] = /^\{"start":(\d+),"end":(\d+),"text":"(.*)"\}$/.exec(line) ?? [];
    // The model puts sounds other than speech in brackets.
    if (start === undefined || text.trim() === '' || /^\s*[[(].*[\])]\s*$/.test(text)) return [];
    return [{ startMs: Number(start), endMs: Number(end), text: text.trim() }];
  });
