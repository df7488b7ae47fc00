import { json } from 'node:stream/consumers';
import type { TextTracks } from '../cache/text-tracks.js';
import type { Row } from '../db/schema.js';
import { RECOGNITION_QUEUE } from '../domain/tracks/generate-subtitles.js';
import type { RecognitionState, TrackSound } from '../domain/tracks/recognition-state.js';
import type { TrackState } from '../domain/tracks/track-state.js';
import { throwIfAborted } from '../lib/abort.js';
import { isKinoraError, KinoraError } from '../lib/errors.js';
import { languageCodeOf } from '../media/speech/languages.js';
import { makeCues } from '../media/speech/make-cues.js';
import { mapWords, packWindows, type SpeechWindow } from '../media/speech/pack-windows.js';
import type { Transcript, Word } from '../media/speech/word.js';
import { indexCues } from '../media/text-index.js';
import { type MediaPool, mediaPriority } from '../pool/media-pool.js';
import { readResult } from '../pool/read-result.js';
import type { Job, QueueWorker } from '../queue/queue.js';
import type { Transcriber } from '../speech/transcriber.js';
import type { BlobStore } from '../storage/blob-store.js';
import { speechPrefix, speechWindowKey, trackPrefix, trackTextKey, trackWordsKey } from '../storage/keys.js';
import type { Logger } from '../telemetry/logger.js';
import { withTemporaryFile } from './ingest/temporary-file.js';
import { findSpeechSpans, type OpenSound } from './speech/find-speech-spans.js';

export interface RecognitionDeps {
  readonly state: RecognitionState;
  readonly tracks: Pick<TrackState, 'complete' | 'fail' | 'needsFiles'>;
  readonly blobs: BlobStore;
  readonly texts: Pick<TextTracks, 'store'>;
  readonly pool: MediaPool;
  /** Absent when speech recognition is not configured. */
  readonly transcriber?: Transcriber | undefined;
  /** A directory that media processes may write to. */
  readonly temporaryDir: string;
  readonly logger: Logger;
}

interface RecognitionPayload {
  readonly trackId: string;
}

/** 30 s of samples and a header. */
const MAX_AUDIO_BYTES = 2 ** 20;
/** Of the whole work, what finding speech takes. */
const SEARCH_SHARE = 0.1;

/**
 * Makes the text of generated tracks, one at a time. What is found of a track is stored window by window, so that a run
 * after a restart goes on where the last one ended.
 */
export const createRecognitionWorker = (deps: RecognitionDeps): QueueWorker => ({
  queue: RECOGNITION_QUEUE,
  concurrency: 1,
  handler: async (job: Job<RecognitionPayload>, { signal }) => {
    const track = await deps.state.find(job.payload.trackId);
    if (track?.status !== 'preparing') return;
    const logger = deps.logger.child({ asset_id: track.asset_id, track_id: track.id, job_id: job.id });
    try {
      await recognize({ ...deps, logger }, track, signal);
    } catch (error) {
      // Of a track that was deleted meanwhile nothing is told.
      if (await deps.state.find(track.id)) throw error;
    } finally {
      if (!(await deps.tracks.needsFiles(track.id)))
        await deps.blobs.deletePrefix(trackPrefix(track.asset_id, track.id));
    }
  },
  onFailed: async (job: Job<RecognitionPayload>, error) => {
    const { trackId } = job.payload;
    deps.logger.warn(
      { track_id: trackId, job_id: job.id, err: error },
      'the speech of a track could not be recognized',
    );
    const track = await deps.state.find(trackId);
    await deps.tracks.fail(trackId, error);
    if (track) await deps.blobs.deletePrefix(speechPrefix(track.asset_id, trackId));
  },
});

const recognize = async (deps: RecognitionDeps, track: Row<'track'>, signal: AbortSignal): Promise<void> => {
  const { asset_id: assetId, id: trackId } = track;
  const { transcriber, blobs, state } = deps;
  if (!(await blobs.stat(trackTextKey(assetId, trackId)))) {
    if (!transcriber)
      throw new KinoraError('internal_error', { messages: ['Speech recognition is not available.'], failure: 'fail' });
    await transcriber.check(languageOf(track));
    const found = await state.findSound(track);
    const words = await withSound(deps, found, async (sound) => {
      const onProgress = (fraction: number) => state.saveProgress(trackId, fraction * SEARCH_SHARE);
      const spans = await findSpeechSpans(deps, { assetId, trackId, sound, signal, onProgress });
      const windows = packWindows(spans, found.durationMs);
      return recognizeWindows({ ...deps, transcriber }, track, { sound, windows }, signal);
    });
    if (words.length === 0) throw new KinoraError('invalid_input', { messages: ['No speech was detected.'] });
    await blobs.put(trackWordsKey(assetId, trackId), Buffer.from(JSON.stringify(words)));
    await deps.texts.store(assetId, trackId, indexCues(makeCues(words, found.durationMs)));
    deps.logger.info({ words: words.length }, 'the speech of a track is recognized');
  }
  await deps.tracks.complete(trackId);
  await blobs.deletePrefix(speechPrefix(assetId, trackId));
};

/** The file is held open for as long as it is read. */
const withSound = async <T>(
  { blobs }: Pick<RecognitionDeps, 'blobs'>,
  { audio: plan, key, durationMs }: TrackSound,
  use: (sound: OpenSound) => Promise<T>,
): Promise<T> => {
  const blob = await blobs.openLocal(key);
  try {
    const { boundaries: _, ...audio } = plan;
    return await use({ source: { path: blob.path, formatName: audio.formatName }, audio, durationMs });
  } finally {
    await blob.release();
  }
};

/** What a recognizer is asked for: the owner may have given the track a code with a region meanwhile. */
const languageOf = ({ language_code: code }: Row<'track'>): string => languageCodeOf(code ?? '') ?? 'auto';

type ReadyDeps = RecognitionDeps & { readonly transcriber: Transcriber };

interface Speech {
  readonly sound: OpenSound;
  readonly windows: readonly SpeechWindow[];
}

/** The words of all windows, with times of the track. A language that is to be detected is that of the first window. */
const recognizeWindows = async (
  deps: ReadyDeps,
  track: Row<'track'>,
  { sound, windows }: Speech,
  signal: AbortSignal,
): Promise<Word[]> => {
  const { asset_id: assetId, id: trackId } = track;
  const phrases = await deps.state.listPhrases(assetId);
  const words: Word[] = [];
  let language = languageOf(track);
  let isDecided = track.language_code !== 'auto';
  for (const [at, window] of windows.entries()) {
    throwIfAborted(signal);
    const key = speechWindowKey(assetId, trackId, at);
    const stored = await deps.blobs.read(key);
    const transcript = stored
      ? ((await json(stored)) as Transcript)
      : await recognizeWindow(deps, sound, window, { language, phrases, signal });
    if (!stored) await deps.blobs.put(key, Buffer.from(JSON.stringify(transcript)));
    if (!isDecided && transcript.words.length > 0) {
      isDecided = true;
      language = transcript.language ?? 'auto';
      await deps.state.saveLanguage(trackId, transcript.language ?? 'und', transcript.confidence);
    }
    words.push(...mapWords(window, transcript.words));
    await deps.state.saveProgress(trackId, SEARCH_SHARE + (1 - SEARCH_SHARE) * ((at + 1) / windows.length));
    deps.logger.debug({ window: at, of: windows.length, words: transcript.words.length }, 'a window is recognized');
  }
  return words;
};

const recognizeWindow = (
  { pool, transcriber, temporaryDir }: ReadyDeps,
  { source, audio }: OpenSound,
  { pieces, lengthMs }: SpeechWindow,
  options: { readonly language: string; readonly phrases: readonly string[]; readonly signal: AbortSignal },
): Promise<Transcript> =>
  withTemporaryFile(temporaryDir, async (outPath) => {
    const { signal } = options;
    const job = { kind: 'speech-audio', source, audio, pieces, lengthMs, outPath } as const;
    await pool.run(job, { priority: mediaPriority.speech, signal });
    const bytes = await readResult(outPath, MAX_AUDIO_BYTES);
    return await transcriber.transcribe({ bytes, path: outPath, lengthMs }, options).catch((error: unknown) => {
      if (signal.aborted && !isKinoraError(error, 'cancelled'))
        throw new KinoraError('cancelled', { cause: signal.reason });
      throw error;
    });
  });
