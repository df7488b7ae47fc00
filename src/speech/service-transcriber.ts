import { setTimeout as delay } from 'node:timers/promises';
import { KinoraError } from '../lib/errors.js';
import { createLinkedAbort } from '../lib/linked-abort.js';
import { parseTranscript } from '../media/speech/parse-transcript.js';
import type { Transcript } from '../media/speech/word.js';
import { postRecording, type RecordingResponse } from '../net/post-recording.js';
import {
  joinPhrases,
  speechFailure,
  type TranscribeOptions,
  type Transcriber,
  type WindowAudio,
} from './transcriber.js';

export interface ServiceOptions {
  /** The base URL of an OpenAI-compatible API, such as `http://127.0.0.1:8000/v1`. */
  readonly url: string;
  readonly key?: string;
  /** The service's name for the model. */
  readonly model: string;
  readonly timeoutMs: number;
  /** The delay before the second try; three times as long before the third. 1 s by default. */
  readonly retryDelayMs?: number;
}

const MAX_RESPONSE_BYTES = 4 * 2 ** 20;
const MAX_TRIES = 3;
const MAX_RETRY_AFTER_MS = 30_000;
const KEPT_BODY_CHARACTERS = 500;

/** Recognition by a service that implements OpenAI's `/audio/transcriptions`. */
export const createServiceTranscriber = (options: ServiceOptions): Transcriber => {
  /**
   * Without a language, some services detect it and some assume English; with `auto`, some detect it and some refuse.
   * So `auto` is sent until the service refuses it.
   */
  let sendsAuto = true;

  const postOnce = async (
    { bytes }: WindowAudio,
    { language, phrases, signal }: TranscribeOptions,
  ): Promise<RecordingResponse> => {
    using limited = createLinkedAbort(signal, options.timeoutMs);
    const prompt = joinPhrases(phrases);
    const fields: [string, string][] = [
      ['model', options.model],
      ['response_format', 'verbose_json'],
      ['timestamp_granularities[]', 'word'],
      ['timestamp_granularities[]', 'segment'],
      ['temperature', '0'],
      ...(language !== 'auto' || sendsAuto ? [['language', language] as [string, string]] : []),
      ...(prompt === '' ? [] : [['prompt', prompt] as [string, string]]),
    ];
    try {
      return await postRecording({
        url: `${options.url}/audio/transcriptions`,
        ...(options.key !== undefined && { key: options.key }),
        fields,
        file: { name: 'window.wav', type: 'audio/wav', bytes },
        maxResponseBytes: MAX_RESPONSE_BYTES,
        signal: limited.signal,
      });
    } catch (error) {
      if (signal.aborted) throw new KinoraError('cancelled', { cause: signal.reason });
      if (limited.isLate)
        throw speechFailure('The speech recognition service did not answer in time.', 'defect', {}, error);
      throw speechFailure('The speech recognition service could not be reached.', 'retry', {}, error);
    }
  };

  const post = async (window: WindowAudio, transcribe: TranscribeOptions): Promise<string> => {
    for (let attempt = 1; ; attempt++) {
      const { status, body, retryAfterMs = 0 } = await postOnce(window, transcribe);
      if (status >= 200 && status < 300) return body;
      if (status === 400 && transcribe.language === 'auto' && sendsAuto) {
        sendsAuto = false;
        continue;
      }
      if (!isPassing(status) || attempt >= MAX_TRIES) throw refused(status, body);
      const ownMs = (options.retryDelayMs ?? 1000) * 3 ** (attempt - 1);
      await delay(Math.min(MAX_RETRY_AFTER_MS, Math.max(retryAfterMs, ownMs)), undefined, {
        signal: transcribe.signal,
      }).catch(() => {
        throw new KinoraError('cancelled', { cause: transcribe.signal.reason });
      });
    }
  };

  return {
    check: async () => undefined,
    transcribe: async (window, transcribe): Promise<Transcript> => {
      const body = await post(window, transcribe);
      const transcript = parseTranscript(body, window.lengthMs);
      if (transcript) return transcript;
      const details = { body: body.slice(0, KEPT_BODY_CHARACTERS) };
      throw speechFailure('The speech recognition service gave an answer that cannot be read.', 'fail', details);
    },
  };
};

const isPassing = (status: number): boolean => status === 408 || status === 429 || status >= 500;

const refused = (status: number, body: string): KinoraError => {
  const isBusy = status === 429 || status === 503;
  return speechFailure(
    `The speech recognition service answered with HTTP status ${status}.`,
    isBusy ? 'retry' : isPassing(status) ? 'defect' : 'fail',
    { status, body: body.slice(0, KEPT_BODY_CHARACTERS) },
  );
};
