import { json } from 'node:stream/consumers';
import type { TrackAudio } from '../../domain/tracks/recognition-state.js';
import { cancelled, throwIfAborted } from '../../lib/abort.js';
import { isKinoraError, KinoraError } from '../../lib/errors.js';
import { withTemporaryFile } from '../../lib/temporary-file.js';
import { applyPhrases } from '../../media/speech/apply-phrases.js';
import { makeCues } from '../../media/speech/make-cues.js';
import { mapWords, packWindows, type SpeechWindow } from '../../media/speech/pack-windows.js';
import type { Transcript, Word } from '../../media/speech/word.js';
import { indexCues } from '../../media/text/text-index.js';
import type { TextTracks } from '../../packager/text-tracks.js';
import { type MediaPool, mediaPriority } from '../../pool/media-pool.js';
import { readResult } from '../../pool/read-result.js';
import type { Transcriber } from '../../speech/transcriber.js';
import type { BlobStore } from '../../storage/blob-store.js';
import { speechWindowKey, trackWordsKey } from '../../storage/keys.js';
import type { Logger } from '../../telemetry/logger.js';
import { findSpeechSpans, type OpenAudio } from './find-speech-spans.js';

export interface AudioDeps {
  readonly blobs: BlobStore;
  readonly texts: Pick<TextTracks, 'store'>;
  readonly pool: MediaPool;
  readonly transcriber: Transcriber;
  /** A directory that media processes may write to. */
  readonly temporaryDir: string;
  readonly logger: Logger;
}

export interface AudioToRecognize {
  readonly assetId: string;
  /** Words and text are stored under this track's ID; the track itself may be created later. */
  readonly trackId: string;
  readonly audio: TrackAudio;
  /** A language code, or `auto`. */
  readonly language: string;
  readonly phrases: readonly string[];
  readonly signal: AbortSignal;
  /** 0 to 1 */
  readonly onProgress: (fraction: number) => Promise<void>;
  /** Called once if the language was to be detected. */
  readonly onLanguage: (language: string | undefined, confidence: number | undefined) => Promise<void>;
}

/** 30 s of samples and a header. */
const MAX_AUDIO_BYTES = 2 ** 20;
/** Finding speech takes this share of the whole work. */
const SEARCH_SHARE = 0.1;

/**
 * Stores the words and the cues of some audio. Results are stored window by window, so that a
 * restart continues after the last one.
 */
export const recognizeAudio = async (deps: AudioDeps, task: AudioToRecognize): Promise<void> => {
  const { blobs, transcriber, logger } = deps;
  const { assetId, trackId, audio, signal } = task;
  await transcriber.check(task.language);
  const words = await withAudio(blobs, audio, async (open) => {
    const onProgress = (fraction: number) => task.onProgress(fraction * SEARCH_SHARE);
    const spans = await findSpeechSpans(deps, { assetId, trackId, audio: open, signal, onProgress });
    return recognizeWindows(deps, task, open, packWindows(spans, audio.durationMs));
  });
  if (words.length === 0) throw new KinoraError('invalid_input', { messages: ['No speech was detected.'] });
  await blobs.put(trackWordsKey(assetId, trackId), Buffer.from(JSON.stringify(words)));
  await deps.texts.store(assetId, trackId, indexCues(makeCues(words, audio.durationMs)));
  logger.info({ words: words.length }, 'speech recognized');
};

/** Calls the function while the file is held open. */
const withAudio = async <T>(
  blobs: BlobStore,
  { audio: plan, key, durationMs }: TrackAudio,
  use: (audio: OpenAudio) => Promise<T>,
): Promise<T> => {
  const blob = await blobs.openLocal(key);
  try {
    const { boundaries: _, ...audio } = plan;
    return await use({ source: { path: blob.path, formatName: audio.formatName }, audio, durationMs });
  } finally {
    await blob.release();
  }
};

/**
 * The words of all windows, with times of the track. The language is detected in the first window.
 */
const recognizeWindows = async (
  deps: AudioDeps,
  { assetId, trackId, phrases, signal, onProgress, onLanguage, language: requestedLanguage }: AudioToRecognize,
  audio: OpenAudio,
  windows: readonly SpeechWindow[],
): Promise<Word[]> => {
  const words: Word[] = [];
  let language = requestedLanguage;
  let isDecided = requestedLanguage !== 'auto';
  for (const [at, window] of windows.entries()) {
    throwIfAborted(signal);
    const key = speechWindowKey(assetId, trackId, at);
    const stored = await deps.blobs.read(key);
    const transcript = stored
      ? ((await json(stored)) as Transcript)
      : await recognizeWindow(deps, audio, window, { language, phrases, signal });
    if (!stored) await deps.blobs.put(key, Buffer.from(JSON.stringify(transcript)));
    if (!isDecided && transcript.words.length > 0) {
      isDecided = true;
      language = transcript.language ?? 'auto';
      await onLanguage(transcript.language, transcript.confidence);
    }
    words.push(...mapWords(window, applyPhrases(transcript.words, phrases)));
    await onProgress(SEARCH_SHARE + (1 - SEARCH_SHARE) * ((at + 1) / windows.length));
    deps.logger.debug({ window: at, of: windows.length, words: transcript.words.length }, 'speech window recognized');
  }
  return words;
};

const recognizeWindow = (
  { pool, transcriber, temporaryDir }: AudioDeps,
  { source, audio }: OpenAudio,
  { pieces, lengthMs }: SpeechWindow,
  options: { readonly language: string; readonly phrases: readonly string[]; readonly signal: AbortSignal },
): Promise<Transcript> =>
  withTemporaryFile(temporaryDir, async (outPath) => {
    const { signal } = options;
    const job = { kind: 'speech-audio', source, audio, pieces, lengthMs, outPath } as const;
    await pool.run(job, { priority: mediaPriority.speech, signal });
    const bytes = await readResult(outPath, MAX_AUDIO_BYTES);
    return await transcriber.transcribe({ bytes, path: outPath, lengthMs }, options).catch((error: unknown) => {
      if (signal.aborted && !isKinoraError(error, 'cancelled')) throw cancelled(signal);
      throw error;
    });
  });
