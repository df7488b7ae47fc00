import { writeFile } from 'node:fs/promises';
import type { LiveFeed } from '../../domain/playback/live-feed.js';
import { throwIfAborted } from '../../lib/abort.js';
import { withTemporaryFile } from '../../lib/temporary-file.js';
import type { LiveSegment, LiveTrackInfo } from '../../media/live/live-track.js';
import { applyPhrases } from '../../media/speech/apply-phrases.js';
import { mapWords, packWindows, type SpeechWindow } from '../../media/speech/pack-windows.js';
import type { Word } from '../../media/speech/word.js';
import { type MediaPool, mediaPriority } from '../../pool/media-pool.js';
import type { SpeechSource } from '../../pool/protocol.js';
import { readResult } from '../../pool/read-result.js';
import type { Transcriber } from '../../speech/transcriber.js';

export interface RecognizerDeps {
  readonly pool: Pick<MediaPool, 'run'>;
  readonly transcriber: Transcriber;
  /** A directory that media processes may write to. */
  readonly temporaryDir: string;
}

export interface RecognizerOptions {
  /** Without a region. */
  readonly language: string;
  readonly phrases: readonly string[];
  readonly signal: AbortSignal;
}

/** 30 s of samples and a header. */
const MAX_AUDIO_BYTES = 2 ** 20;
/** What decoding needs of a plan; the rest is for tracks that are encoded. */
const DECODED = {
  streamIndex: 0,
  formatName: 'mov',
  mode: 'encode',
  sampleRate: 48_000,
  chunkSegments: 1,
  bitRate: 0,
  codecs: '',
  bandwidth: 0,
  audioSpecificConfig: '',
} as const;

/**
 * Recognizes the speech in segments of an audio track, which have the same configuration and follow
 * each other. The words have times of the broadcast.
 * @throws KinoraError `speech_failed`, `media_failed`, `cancelled`
 */
export const recognizeSegments = async (
  deps: RecognizerDeps,
  feed: LiveFeed,
  { info, segments }: { readonly info: LiveTrackInfo; readonly segments: readonly LiveSegment[] },
  options: RecognizerOptions,
): Promise<Word[]> => {
  const [first] = segments;
  const init = first && feed.init(info.name, first.config);
  const files = await Promise.all(segments.map(({ number }) => feed.read(info.name, number)));
  if (!first || !init || files.includes(undefined)) return [];
  const ticks = segments.reduce((sum, { durationTicks }) => sum + durationTicks, 0);
  const durationMs = Math.floor((ticks * 1000) / info.timescale);
  const startMs = (first.startTicks * 1000) / info.timescale;
  return withTemporaryFile(deps.temporaryDir, async (path) => {
    await writeFile(path, Buffer.concat([init, ...(files as Uint8Array[])]));
    const speech: SpeechSource = {
      source: { path, formatName: DECODED.formatName },
      audio: {
        ...DECODED,
        sourceTimeBase: { num: 1, den: info.timescale },
        sourceSampleRate: info.timescale,
        sourceOrigin: first.startTicks,
        channels: info.channels === 1 ? 1 : 2,
      },
    };
    const { signal } = options;
    const search = { kind: 'find-speech', ...speech, startMs: 0, endMs: durationMs, more: false } as const;
    const { spans } = await deps.pool.run(search, { priority: mediaPriority.warmUp, signal });
    const words: Word[] = [];
    for (const window of packWindows(spans, durationMs)) {
      throwIfAborted(signal);
      words.push(...(await recognizeWindow(deps, speech, window, options)));
    }
    return words.map((word) => ({ ...word, startMs: word.startMs + startMs, endMs: word.endMs + startMs }));
  });
};

const recognizeWindow = (
  { pool, transcriber, temporaryDir }: RecognizerDeps,
  speech: SpeechSource,
  window: SpeechWindow,
  options: RecognizerOptions,
): Promise<Word[]> =>
  withTemporaryFile(temporaryDir, async (outPath) => {
    const { signal, phrases } = options;
    const { lengthMs } = window;
    const job = { kind: 'speech-audio', ...speech, ...window, outPath } as const;
    await pool.run(job, { priority: mediaPriority.warmUp, signal });
    const bytes = await readResult(outPath, MAX_AUDIO_BYTES);
    const { words } = await transcriber.transcribe({ bytes, path: outPath, lengthMs }, options);
    return mapWords(window, applyPhrases(words, phrases));
  });
