import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { silenceS3ClientNotice } from '../config/environment.js';
import type { Config } from '../config/options.js';
import { backoffMs } from '../lib/backoff.js';
import { isKinoraError, KinoraError } from '../lib/errors.js';
import { makeDirectory } from '../lib/make-directory.js';
import type { BlobStore, LinkedSources } from '../storage/blob-store.js';
import { DiskBlobStore } from '../storage/disk/disk-blob-store.js';
import { checkBucket, checkReadable, describeBucket } from '../storage/s3/check-bucket.js';
import { LinkedSourceStore } from '../storage/s3/linked-source-store.js';
import { PART_BYTES } from '../storage/s3/multipart-upload.js';
import { ObjectClient, type S3Settings } from '../storage/s3/object-client.js';
import { S3BlobStore } from '../storage/s3/s3-blob-store.js';
import type { Logger } from '../telemetry/logger.js';
import type { Base } from './parts.js';

type S3Config = Pick<
  Config,
  'blobs' | 's3Endpoint' | 's3Region' | 's3AccessKeyId' | 's3SecretAccessKey' | 's3PathStyle'
>;

/** How the service is reached. */
export const s3ServiceOf = (config: Omit<S3Config, 'blobs'>): Omit<S3Settings, 'bucket' | 'prefix'> => {
  const { s3Endpoint, s3Region, s3AccessKeyId, s3SecretAccessKey, s3PathStyle } = config;
  return {
    region: s3Region,
    pathStyle: s3PathStyle ?? s3Endpoint !== undefined,
    endpoint: s3Endpoint,
    ...(s3AccessKeyId !== undefined &&
      s3SecretAccessKey !== undefined && {
        credentials: { accessKeyId: s3AccessKeyId, secretAccessKey: s3SecretAccessKey },
      }),
  };
};

/** Undefined when blobs are in the data directory. */
export const s3SettingsOf = (config: S3Config): S3Settings | undefined =>
  config.blobs === 'file' ? undefined : { ...config.blobs, ...s3ServiceOf(config) };

/** S3 has 10,000 part numbers. An upload whose server is killed leaves some of them out. */
const MAX_UPLOAD_PARTS = 9000;

/** Connects to the bucket and tries it. @throws KinoraError `config_invalid`, `unavailable` */
export const openBucket = async (settings: S3Settings): Promise<ObjectClient> => {
  silenceS3ClientNotice();
  const objects = await ObjectClient.open(settings);
  try {
    await checkBucket(objects, settings);
    return objects;
  } catch (error) {
    objects.close();
    throw error;
  }
};

/** Tries to read a bucket. @throws KinoraError `config_invalid`, `unavailable` */
export const readBucket = async (settings: S3Settings): Promise<void> => {
  silenceS3ClientNotice();
  const objects = await ObjectClient.open(settings);
  try {
    await checkReadable(objects, settings);
  } finally {
    objects.close();
  }
};

/** About a minute: machines that start together are ready after each other. */
const START_TRIES = 12;
const START_RETRY = { baseMs: 250, maxMs: 10_000 };

/** The same at the start of a server, which waits for a service that is unavailable. */
const openBucketWhenThere = async (settings: S3Settings, logger: Logger): Promise<ObjectClient> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await openBucket(settings);
    } catch (error) {
      if (!isKinoraError(error, 'unavailable') || tries === START_TRIES) throw error;
      logger.warn({ reason: error.messages[0], tries, of: START_TRIES }, 'S3 is unavailable, trying again');
      await pause(backoffMs(tries, START_RETRY));
    }
  }
};

/** Says in the data directory which bucket has its blobs. */
const STORE_FILE = 'store';

/**
 * A server with another place would not find what is stored.
 * @throws KinoraError `config_invalid`
 */
const keepBlobUrlFile = async (blobDir: string, settings: S3Settings | undefined): Promise<void> => {
  const file = join(blobDir, STORE_FILE);
  const url = settings && `s3://${settings.bucket}/${settings.prefix}`;
  const storedUrl = existsSync(file) ? (await readFile(file, 'utf8')).trim() : undefined;
  if (storedUrl === url) return;
  if (storedUrl !== undefined) {
    const message = `The blobs of this data directory are in ${storedUrl}: set KINORA_BLOBS to it. If they were copied to another place, delete ${file}.`;
    throw new KinoraError('config_invalid', { messages: [message] });
  }
  const stored = join(blobDir, 'assets');
  if (existsSync(stored) && (await readdir(stored)).length > 0) {
    const message = `The blobs of this data directory are in ${stored}: copy this directory to ${url}/assets and rename it, or set KINORA_BLOBS=file.`;
    throw new KinoraError('config_invalid', { messages: [message] });
  }
  await writeFile(file, `${url}\n`);
};

/** `blobDir` has the blobs, or what is unfinished and copied of them. */
const openOwnBlobs = async ({ config, logger, phases }: Base, blobDir: string): Promise<BlobStore> => {
  await makeDirectory(blobDir);
  const settings = s3SettingsOf(config);
  const objects = settings && (await openBucketWhenThere(settings, logger));
  if (objects) phases.push({ name: 'S3', end: () => objects.close() });
  await keepBlobUrlFile(blobDir, settings);
  if (!objects) return new DiskBlobStore(blobDir);
  logger.info({ blobs: describeBucket(settings) }, 'blobs in S3');
  return S3BlobStore.open({
    ...{ objects, localDir: blobDir, maxLocalBytes: config.copySizeBytes },
    partBytes: Math.max(PART_BYTES, Math.ceil(config.maxSourceBytes / MAX_UPLOAD_PARTS)),
  });
};

/** Opens the store of blobs, with the sources that stay in other buckets if there are any. */
export const openBlobs = async (
  base: Base,
  blobDir: string,
): Promise<{ readonly blobs: BlobStore; readonly linked?: LinkedSources }> => {
  const blobs = await openOwnBlobs(base, blobDir);
  const { config, logger, phases } = base;
  if (!config.sourceBuckets) return { blobs };
  silenceS3ClientNotice();
  const clients = new Map<string, Promise<ObjectClient>>();
  const clientOf = (bucket: string): Promise<ObjectClient> => {
    const client = clients.get(bucket) ?? ObjectClient.open({ bucket, prefix: '', ...s3ServiceOf(config) });
    clients.set(bucket, client);
    return client;
  };
  phases.push({
    name: 'source buckets',
    end: async () => {
      for (const client of clients.values()) (await client).close();
    },
  });
  const linked = await LinkedSourceStore.open({
    ...{ blobs, clientOf, logger, allowedPaths: config.sourceBuckets },
    dir: join(blobDir, '.linked'),
    maxLocalBytes: config.copySizeBytes,
  });
  return { blobs: linked, linked };
};
