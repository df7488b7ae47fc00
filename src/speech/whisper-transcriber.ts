import { open, rm } from 'node:fs/promises';
import { isKinoraError } from '../lib/errors.js';
import type { Transcript, Word } from '../media/speech/word.js';
import { type MediaPool, mediaPriority } from '../pool/media-pool.js';
import { speechFailure, type Transcriber } from './transcriber.js';

export interface WhisperOptions {
  /** A model in whisper.cpp format. */
  readonly modelPath: string;
  readonly pool: Pick<MediaPool, 'run'>;
}

const MAGIC = 0x67676d6c;
/** Multilingual models have a larger vocabulary. */
const MULTILINGUAL_VOCABULARY = 51_865;

export interface WhisperModel {
  readonly isMultilingual: boolean;
  readonly sizeBytes: number;
}

/**
 * Reads the header of a model file.
 * @throws KinoraError `speech_failed`
 */
export const readWhisperModel = async (path: string): Promise<WhisperModel> => {
  const unreadable = (reason: string, cause?: unknown) =>
    speechFailure('The speech model cannot be read.', 'fail', { path, reason }, cause);
  const file = await open(path).catch((error: unknown) => {
    throw unreadable('the file cannot be opened', error);
  });
  try {
    const head = Buffer.alloc(8);
    const { bytesRead } = await file.read(head, 0, head.length, 0);
    if (bytesRead < head.length || head.readUInt32LE(0) !== MAGIC)
      throw unreadable('the file is no model of whisper.cpp');
    const { size } = await file.stat();
    return { isMultilingual: head.readInt32LE(4) >= MULTILINGUAL_VOCABULARY, sizeBytes: size };
  } finally {
    await file.close();
  }
};

/** Recognition in a media process of this server, with a lower priority than all its other work. */
export const createWhisperTranscriber = ({ modelPath, pool }: WhisperOptions): Transcriber => ({
  check: async (language) => {
    const { isMultilingual } = await readWhisperModel(modelPath);
    if (!isMultilingual && language !== 'en' && language !== 'auto')
      throw speechFailure('The speech model knows English only.', 'fail', { path: modelPath, language });
  },
  transcribe: async ({ path, lengthMs }, { language, signal }) => {
    const { isMultilingual } = await readWhisperModel(modelPath);
    const job = {
      kind: 'recognize-speech',
      audioPath: path,
      outPath: `${path}.words`,
      modelPath,
      language: isMultilingual ? language : 'en',
    } as const;
    try {
      const transcript = await pool.run(job, { priority: mediaPriority.speech, signal });
      return { ...(isMultilingual ? {} : { language: 'en' }), ...believable(transcript, lengthMs) };
    } catch (error) {
      throw translated(error, modelPath);
    } finally {
      await rm(job.outPath, { recursive: true, force: true });
    }
  },
});

/** A model is an external file too, so the output of its process is not trusted. */
const believable = ({ language, confidence, words }: Transcript, lengthMs: number): Transcript => ({
  ...(typeof language === 'string' && { language, ...(typeof confidence === 'number' && { confidence }) }),
  words: (Array.isArray(words) ? (words as readonly Word[]) : []).flatMap(({ startMs, endMs, text }) =>
    Number.isFinite(startMs) && Number.isFinite(endMs) && typeof text === 'string'
      ? [{ startMs: Math.min(startMs, lengthMs), endMs: Math.min(endMs, lengthMs), text }]
      : [],
  ),
});

const translated = (error: unknown, path: string): unknown => {
  if (isKinoraError(error, 'media_failed')) {
    const isModel = String(error.details?.reason).startsWith('load the speech model');
    const message = isModel ? 'The speech model cannot be read.' : 'Speech recognition failed.';
    return speechFailure(message, 'fail', { path, ...error.details }, error);
  }
  if (isKinoraError(error, 'media_crashed'))
    return speechFailure('The process of the speech recognition crashed.', 'defect', { path, ...error.details }, error);
  return error;
};
