import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isKinoraError, KinoraError } from '../lib/errors.js';
import type { SourceFetcher } from '../net/fetch-source.js';
import { DiskBlobStore } from '../storage/disk/disk-blob-store.js';
import { installedModelPath, type KnownModel, knownModels, modelsDirectory } from './models.js';

export interface InstallOptions {
  readonly dataDir: string;
  /** An existing file to install instead of downloading. */
  readonly from?: string;
  readonly fetcher: SourceFetcher;
  readonly onProgress: (receivedBytes: number) => void;
}

const failed = (message: string, cause?: unknown): KinoraError =>
  new KinoraError('internal_error', { messages: [message], cause, failure: 'fail' });

/**
 * Stores a model under its name after verifying all its bytes; an interrupted download continues
 * where it stopped.
 * @returns the path; the model may already have been installed
 * @throws KinoraError `internal_error` with a message for the user
 */
export const installModel = async (model: KnownModel, options: InstallOptions): Promise<string> => {
  const path = installedModelPath(options.dataDir, model.name);
  if (await isThere(path)) return path;
  const directory = modelsDirectory(options.dataDir);
  const incoming = `${model.name}.incoming`;
  const arrived = join(directory, incoming);
  const store = new DiskBlobStore(directory);
  if (!(await isThere(arrived))) {
    const target = await store.resumeWrite(incoming);
    if (options.from === undefined) {
      await download(model, options, target);
    } else {
      await target.restart();
      try {
        for await (const bytes of createReadStream(options.from)) await target.write(bytes as Uint8Array);
      } catch (error) {
        await target.discard();
        throw failed(`The file ${options.from} cannot be read: ${(error as Error).message}.`, error);
      }
      await target.commit();
    }
  }
  const received = { sizeBytes: (await stat(arrived)).size, sha256: await hashOf(arrived) };
  await rm(validatorPath(options.dataDir, model), { force: true });
  if (received.sizeBytes !== model.sizeBytes || received.sha256 !== model.sha256) {
    await rm(arrived);
    const where = options.from ?? model.url;
    throw failed(
      `${where} is not the model ${model.name}: it has ${received.sizeBytes} bytes and the SHA-256 hash ${received.sha256}, ` +
        `not ${model.sizeBytes} bytes and ${model.sha256}. To use a model of your own, set KINORA_SPEECH_MODEL to its path.`,
    );
  }
  await rename(arrived, path);
  return path;
};

/** Stores the version of the file that is being downloaded. */
const validatorPath = (dataDir: string, { name }: KnownModel): string =>
  join(modelsDirectory(dataDir), `${name}.version`);

const download = async (
  model: KnownModel,
  { dataDir, fetcher, onProgress }: InstallOptions,
  target: Parameters<SourceFetcher['fetch']>[1],
): Promise<void> => {
  const path = validatorPath(dataDir, model);
  const validator = await readFile(path, 'utf8').catch(() => undefined);
  try {
    await fetcher.fetch(model.url, target, {
      maxBytes: model.sizeBytes,
      ...(validator !== undefined && { validator }),
      onValidator: (validator) => (validator === undefined ? rm(path, { force: true }) : writeFile(path, validator)),
      onProgress,
    });
  } catch (error) {
    const told = isKinoraError(error) ? error.messages.join(' ') : String(error);
    const reason = told.replace(/^The input file could not be downloaded: /, '');
    throw failed(
      `The model could not be downloaded from ${model.url}: ${reason} ` +
        'On a machine without internet, fetch the file elsewhere and pass it with --from.',
      error,
    );
  }
};

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

const hashOf = async (path: string): Promise<string> => {
  const hash = createHash('sha256');
  for await (const bytes of createReadStream(path)) hash.update(bytes as Uint8Array);
  return hash.digest('hex');
};

/** The known models and whether each is installed. */
export const listModels = (dataDir: string): Promise<(KnownModel & { readonly installed: boolean })[]> =>
  Promise.all(
    knownModels.map(async (model) => ({ ...model, installed: await isThere(installedModelPath(dataDir, model.name)) })),
  );

/** Also removes an interrupted download. False when there was nothing to remove. */
export const removeModel = async (dataDir: string, model: KnownModel): Promise<boolean> => {
  const path = installedModelPath(dataDir, model.name);
  const wasThere = await isThere(path);
  const incoming = join(modelsDirectory(dataDir), `${model.name}.incoming`);
  for (const file of [path, incoming, validatorPath(dataDir, model)]) await rm(file, { force: true });
  if (await isThere(modelsDirectory(dataDir)))
    await new DiskBlobStore(modelsDirectory(dataDir)).discardUnfinished(`${model.name}.incoming`);
  return wasThere;
};
