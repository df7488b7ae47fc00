import { setTimeout as delay } from 'node:timers/promises';
import { cancelled } from '../lib/abort.js';
import type { KinoraError } from '../lib/errors.js';
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
  readonly key?: string | undefined;
  /** The service's name for the model. */
  readonly model: string;
  readonly timeoutMs: number;
  /** The delay before the second try; three times as long before the third. 1 s by default. */
  readonly retryDelayMs?: number;
}

const MAX_RESPONSE_BYTES = 4 * 2 ** 20;
const MAX_TRIES = 3;
const MAX_RETRY_AFTER_MS = 30_000;
const MAX_LOGGED_CHARACTERS = 500;

/** Recognition by a service that implements OpenAI's `/audio/transcriptions`. */
export class ServiceTranscriber implements Transcriber {
  /**
   * Without a language, some services detect it and some assume English; with `auto`, some detect
   * it and some reject it. So `auto` is sent until the service rejects it.
   */
  private sendsAuto = true;

  constructor(private readonly options: ServiceOptions) {}

  async check(): Promise<void> {}

  async transcribe(window: WindowAudio, transcribe: TranscribeOptions): Promise<Transcript> {
    const body = await this.post(window, transcribe);
    const transcript = parseTranscript(body, window.lengthMs);
    if (transcript) return transcript;
    const details = { body: body.slice(0, MAX_LOGGED_CHARACTERS) };
    throw speechFailure('The speech recognition service gave an answer that cannot be read.', 'fail', details);
  }

  private async post(window: WindowAudio, transcribe: TranscribeOptions): Promise<string> {
    for (let attempt = 1; ; attempt++) {
      const { status, body, retryAfterMs = 0 } = await this.postOnce(window, transcribe);
      if (status >= 200 && status < 300) return body;
      if (status === 400 && transcribe.language === 'auto' && this.sendsAuto) {
        this.sendsAuto = false;
        continue;
      }
      if (!isPassing(status) || attempt >= MAX_TRIES) throw rejection(status, body);
      const ownMs = (this.options.retryDelayMs ?? 1000) * 3 ** (attempt - 1);
      await delay(Math.min(MAX_RETRY_AFTER_MS, Math.max(retryAfterMs, ownMs)), undefined, {
        signal: transcribe.signal,
      }).catch(() => {
        throw cancelled(transcribe.signal);
      });
    }
  }

  private async postOnce(
    { bytes }: WindowAudio,
    { language, phrases, signal }: TranscribeOptions,
  ): Promise<RecordingResponse> {
    const { url, key, model, timeoutMs } = this.options;
    using limited = createLinkedAbort(signal, timeoutMs);
    const prompt = joinPhrases(phrases);
    const fields: [string, string][] = [
      ['model', model],
      ['response_format', 'verbose_json'],
      ['timestamp_granularities[]', 'word'],
      ['timestamp_granularities[]', 'segment'],
      ['temperature', '0'],
    ];
    if (language !== 'auto' || this.sendsAuto) fields.push(['language', language]);
    if (prompt !== '') fields.push(['prompt', prompt]);
    try {
      return await postRecording({
        url: `${url}/audio/transcriptions`,
        ...(key !== undefined && { key }),
        fields,
        file: { name: 'window.wav', type: 'audio/wav', bytes },
        maxResponseBytes: MAX_RESPONSE_BYTES,
        signal: limited.signal,
      });
    } catch (error) {
      if (signal.aborted) throw cancelled(signal);
      if (limited.isLate)
        throw speechFailure('The speech recognition service did not answer in time.', 'defect', {}, error);
      throw speechFailure('The speech recognition service could not be reached.', 'retry', {}, error);
    }
  }
}

const isPassing = (status: number): boolean => status === 408 || status === 429 || status >= 500;

const rejection = (status: number, body: string): KinoraError => {
  const isBusy = status === 429 || status === 503;
  return speechFailure(
    `The speech recognition service answered with HTTP status ${status}.`,
    isBusy ? 'retry' : isPassing(status) ? 'defect' : 'fail',
    { status, body: body.slice(0, MAX_LOGGED_CHARACTERS) },
  );
};
