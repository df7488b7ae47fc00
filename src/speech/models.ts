import { join } from 'node:path';

/** A model that can be installed by name. */
export interface KnownModel {
  readonly name: string;
  readonly url: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly note: string;
}

/** URLs of a commit, so that their content never changes. */
const BASE = 'https://huggingface.co/ggerganov/whisper.cpp/resolve/5359861c739e955e79d9a303bcbc70fb988958b1';

const model = (name: string, sizeBytes: number, sha256: string, note: string): KnownModel => ({
  name,
  url: `${BASE}/${modelFile(name)}`,
  sizeBytes,
  sha256,
  note,
});

const modelFile = (name: string): string => `ggml-${name}.bin`;

export const knownModels: readonly KnownModel[] = [
  model(
    'tiny',
    77_691_713,
    'be07e048e1e599ad46341c8d2a135645097a538221678b7acdd1b1919c6e1b21',
    'fastest, many mistakes',
  ),
  model('base', 147_951_465, '60ed5bc3dd14eea856493d334349b405782ddcaf0028d4b5df4088345fba2efe', 'for slow machines'),
  model(
    'small',
    487_601_967,
    '1be3a9b2063867b937e64e2ec7483364a79917e157fa98c5d94b5c1fffea987b',
    'good for clear speech',
  ),
  model(
    'large-v3-turbo-q5_0',
    574_041_195,
    '394221709cd5ad1f40c46e6031ca61bce88931e6e088c188294c6d5a55ffa7e2',
    'best, slowest',
  ),
];

export const modelsDirectory = (dataDir: string): string => join(dataDir, 'models');
export const installedModelPath = (dataDir: string, name: string): string =>
  join(modelsDirectory(dataDir), modelFile(name));

/** The file for a value of `KINORA_SPEECH_MODEL`. */
export const resolveModel = (dataDir: string, nameOrPath: string): string =>
  knownModels.some(({ name }) => name === nameOrPath) ? installedModelPath(dataDir, nameOrPath) : nameOrPath;
