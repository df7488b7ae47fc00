import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { MediaPool } from '../pool/media-pool.js';
import { createCommandTranscriber } from './command-transcriber.js';
import { resolveModel } from './models.js';
import { ServiceTranscriber } from './service-transcriber.js';
import type { Transcriber } from './transcriber.js';
import { createWhisperTranscriber } from './whisper-transcriber.js';

/** The operator's settings; at most one of model (alone), service and program. */
export interface SpeechSettings {
  readonly dataDir: string;
  readonly speechModel?: string;
  readonly speechUrl?: string;
  readonly speechKey?: string;
  readonly speechCommand?: readonly string[];
  readonly speechTimeoutMs: number;
}

const DEFAULT_SERVICE_MODEL = 'whisper-1';

/** The file of the model that runs on this machine; undefined when none does. */
export const localModelPath = ({ dataDir, speechModel, speechUrl }: SpeechSettings): string | undefined =>
  speechModel === undefined || speechUrl !== undefined ? undefined : resolve(resolveModel(dataDir, speechModel));

/** Describes the speech recognizer for people; undefined when there is none. */
export const describeTranscriber = (settings: SpeechSettings): string | undefined => {
  const { speechUrl, speechCommand } = settings;
  if (speechUrl !== undefined) return `the service at ${speechUrl}`;
  if (speechCommand !== undefined) return `the program ${speechCommand[0]}`;
  const path = localModelPath(settings);
  return path === undefined ? undefined : `the model ${path}`;
};

/** Undefined when nothing is configured: generated tracks then end with an error that says so. */
export const createTranscriber = (settings: SpeechSettings, pool: Pick<MediaPool, 'run'>): Transcriber | undefined => {
  const { dataDir, speechUrl, speechKey, speechModel, speechCommand, speechTimeoutMs: timeoutMs } = settings;
  // Files that a killed server left are useless.
  const directory = join(dataDir, 'cache', 'speech');
  rmSync(directory, { recursive: true, force: true });
  if (speechUrl !== undefined) {
    return new ServiceTranscriber({
      url: speechUrl,
      key: speechKey,
      model: speechModel ?? DEFAULT_SERVICE_MODEL,
      timeoutMs,
    });
  }
  if (speechCommand !== undefined) return createCommandTranscriber({ command: speechCommand, timeoutMs, directory });
  const modelPath = localModelPath(settings);
  return modelPath === undefined ? undefined : createWhisperTranscriber({ modelPath, pool });
};
