import { createHash } from 'node:crypto';
import { finished, type Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type { GetObjectCommandOutput, ListMultipartUploadsCommandOutput, S3Client } from '@aws-sdk/client-s3';
import { throwIfAborted } from '../../lib/abort.js';
import { backoffMs } from '../../lib/backoff.js';
import { isKinoraError, KinoraError } from '../../lib/errors.js';
import { withStallLimit } from '../../lib/stall-limit.js';
import { Hedge } from './hedge.js';

type Sdk = typeof import('@aws-sdk/client-s3');

export interface S3Settings {
  readonly bucket: string;
  /** Before every key, without slashes at its ends; may be empty. */
  readonly prefix: string;
  readonly region: string;
  /** The service of AWS when absent. */
  readonly endpoint?: string;
  readonly pathStyle: boolean;
  /** The credentials of the environment or the machine when absent. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

export interface ObjectInfo {
  readonly sizeBytes: number;
  readonly etag: string;
}

export interface OpenObject extends ObjectInfo {
  /** Of the whole object. Undefined when the server doesn't say, or the range is empty. */
  readonly wholeBytes?: number;
  /** Continues after a lost connection; fails when the object has been replaced. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

export interface UploadedPart {
  readonly number: number;
  readonly etag: string;
}

/** `end` is exclusive. */
interface ObjectRange {
  readonly start: number;
  readonly end?: number;
}

interface ReadOptions {
  /** Of the only version that is read. */
  readonly etag?: string;
  readonly signal?: AbortSignal;
}

const CONNECT_MS = 5000;
/** The longest time without a byte, before the response begins. */
const STALL_MS = 30_000;
/** The same in its body, which a viewer may wait for. The rest is then requested again. */
const BODY_STALL_MS = 10_000;
/** For a whole request without the body of its response: a part over a slow line. */
const REQUEST_MS = 5 * 60_000;
const MAX_TRIES = 5;
const RETRY = { baseMs: 100, maxMs: 2000 };
const MAX_SOCKETS = 64;
/** Of reads that are sent twice. */
const MAX_HEDGED = 0.05;

/** The objects of one bucket and prefix. Failures are `unavailable`: they may pass. */
export class ObjectClient {
  readonly #sdk: Sdk;
  readonly #client: S3Client;
  readonly #bucket: string;
  /** Before every key. */
  readonly #head: string;
  readonly #hedge = new Hedge({ maxShare: MAX_HEDGED });

  private constructor(sdk: Sdk, settings: S3Settings) {
    this.#sdk = sdk;
    this.#bucket = settings.bucket;
    this.#head = settings.prefix === '' ? '' : `${settings.prefix}/`;
    this.#client = new sdk.S3Client({
      region: settings.region,
      ...(settings.endpoint !== undefined && { endpoint: settings.endpoint }),
      ...(settings.credentials && { credentials: settings.credentials }),
      forcePathStyle: settings.pathStyle,
      // Newer checksums are refused by many stores. A part's MD5 is checked by all of them.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      // Each part would need a connection of its own, and a store that ignores `Expect` would never
      // get its body.
      expectContinueHeader: false,
      maxAttempts: MAX_TRIES,
      requestHandler: {
        connectionTimeout: CONNECT_MS,
        socketTimeout: STALL_MS,
        requestTimeout: REQUEST_MS,
        // Otherwise a slow request is only logged.
        throwOnRequestTimeout: true,
        httpAgent: { maxSockets: MAX_SOCKETS, keepAlive: true },
        httpsAgent: { maxSockets: MAX_SOCKETS, keepAlive: true },
      },
    });
  }

  /** Loads the client library, which takes 0.2 s and 23 MB: only where S3 is configured. */
  static async open(settings: S3Settings): Promise<ObjectClient> {
    return new ObjectClient(await import('@aws-sdk/client-s3'), settings);
  }

  put(key: string, bytes: Uint8Array): Promise<ObjectInfo> {
    return attempt('PutObject', key, async () => {
      const input = { ...this.#at(key), Body: bytes, ContentLength: bytes.length, ContentMD5: md5(bytes) };
      const { ETag = '' } = await this.#client.send(new this.#sdk.PutObjectCommand(input));
      return { sizeBytes: bytes.length, etag: ETag };
    });
  }

  stat(key: string): Promise<ObjectInfo | undefined> {
    return orMissing('HeadObject', key, async () => {
      const { ContentLength = 0, ETag = '' } = await this.#client.send(new this.#sdk.HeadObjectCommand(this.#at(key)));
      return { sizeBytes: ContentLength, etag: ETag };
    });
  }

  /**
   * `sizeBytes` is the size of the range. Undefined when the object does not exist.
   * @throws KinoraError `unavailable`, also when the object no longer has `etag`
   */
  async open(key: string, range: ObjectRange, options: ReadOptions = {}): Promise<OpenObject | undefined> {
    const { start, end } = range;
    if (end !== undefined && end <= start) {
      const info = await this.stat(key);
      return info && empty(info.etag);
    }
    const first = await orMissing('GetObject', key, () =>
      this.#get(key, range, options)
        .catch((error: unknown) => {
          // Nothing of the object is in the range.
          if (statusOf(error) === 416) return undefined;
          throw error;
        })
        .then((output) => ({ output })),
    );
    if (!first) return undefined;
    if (!first.output) return empty('');
    const { ContentLength: sizeBytes = 0, ContentRange, ETag = '' } = first.output;
    const wholeBytes = Number(/\/(\d+)$/.exec(ContentRange ?? '')?.[1] ?? Number.NaN);
    return {
      sizeBytes,
      etag: ETag,
      ...(wholeBytes >= 0 && { wholeBytes }),
      chunks: this.#readOn(key, first.output, start, options.signal),
    };
  }

  async delete(key: string): Promise<void> {
    await orMissing('DeleteObject', key, () => this.#client.send(new this.#sdk.DeleteObjectCommand(this.#at(key))));
  }

  /** The keys that begin with `start`. */
  async *list(start: string): AsyncGenerator<{ readonly key: string; readonly sizeBytes: number }> {
    let token: string | undefined;
    do {
      const input = { Bucket: this.#bucket, Prefix: this.#head + start, ...(token && { ContinuationToken: token }) };
      const page = await attempt('ListObjectsV2', start, () =>
        this.#client.send(new this.#sdk.ListObjectsV2Command(input)),
      );
      for (const { Key = '', Size = 0 } of page.Contents ?? [])
        yield { key: Key.slice(this.#head.length), sizeBytes: Size };
      token = page.IsTruncated ? page.NextContinuationToken : undefined;
    } while (token);
  }

  beginParts(key: string): Promise<string> {
    return attempt('CreateMultipartUpload', key, async () => {
      const { UploadId } = await this.#client.send(new this.#sdk.CreateMultipartUploadCommand(this.#at(key)));
      if (!UploadId) throw new Error('the response has no UploadId');
      return UploadId;
    });
  }

  putPart(key: string, UploadId: string, PartNumber: number, bytes: Uint8Array): Promise<UploadedPart> {
    return attempt('UploadPart', key, async () => {
      const part = { ...this.#at(key), UploadId, PartNumber, ContentLength: bytes.length, ContentMD5: md5(bytes) };
      const { ETag = '' } = await this.#client.send(new this.#sdk.UploadPartCommand({ ...part, Body: bytes }));
      return { number: PartNumber, etag: ETag };
    });
  }

  completeParts(key: string, UploadId: string, parts: readonly UploadedPart[]): Promise<void> {
    return attempt('CompleteMultipartUpload', key, async () => {
      const Parts = parts.map(({ number, etag }) => ({ PartNumber: number, ETag: etag }));
      const input = { ...this.#at(key), UploadId, MultipartUpload: { Parts } };
      await this.#client.send(new this.#sdk.CompleteMultipartUploadCommand(input));
    });
  }

  async abortParts(key: string, UploadId: string): Promise<void> {
    await orMissing('AbortMultipartUpload', key, () =>
      this.#client.send(new this.#sdk.AbortMultipartUploadCommand({ ...this.#at(key), UploadId })),
    );
  }

  /** The unfinished multipart uploads whose keys begin with `start`. */
  async listParts(start: string): Promise<readonly { readonly key: string; readonly uploadId: string }[]> {
    const uploads: { key: string; uploadId: string }[] = [];
    let page: ListMultipartUploadsCommandOutput | undefined;
    do {
      const { NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page ?? {};
      const input = { Bucket: this.#bucket, Prefix: this.#head + start, KeyMarker, UploadIdMarker };
      page = await attempt('ListMultipartUploads', start, () =>
        this.#client.send(new this.#sdk.ListMultipartUploadsCommand(input)),
      );
      for (const { Key = '', UploadId = '' } of page.Uploads ?? [])
        uploads.push({ key: Key.slice(this.#head.length), uploadId: UploadId });
    } while (page.IsTruncated && page.NextKeyMarker);
    return uploads;
  }

  close(): void {
    this.#client.destroy();
  }

  #at(key: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.#bucket, Key: this.#head + key };
  }

  async #get(key: string, { start, end }: ObjectRange, { etag, signal }: ReadOptions): Promise<GetObjectCommandOutput> {
    const input = {
      ...this.#at(key),
      ...((start > 0 || end !== undefined) && { Range: `bytes=${start}-${end === undefined ? '' : end - 1}` }),
      ...(etag && { IfMatch: etag }),
    };
    const hedged = await this.#hedge.run(
      (abortSignal) => this.#client.send(new this.#sdk.GetObjectCommand(input), { abortSignal }),
      signal,
    );
    finished(hedged.response.Body as Readable, () => hedged[Symbol.dispose]());
    return hedged.response;
  }

  /**
   * Yields all that `first`, the response for the bytes from `start`, announces: begins with it and
   * requests the rest again when the connection is lost.
   */
  async *#readOn(
    key: string,
    first: GetObjectCommandOutput,
    start: number,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Uint8Array> {
    const end = start + (first.ContentLength ?? 0);
    let position = start;
    let output: GetObjectCommandOutput | undefined = first;
    for (let tries = 1; position < end; ) {
      try {
        output ??= await this.#get(key, { start: position, end }, { etag: first.ETag, signal });
        checkRange(output, position);
        for await (const chunk of withStallLimit(output.Body as AsyncIterable<Uint8Array>, BODY_STALL_MS)) {
          position += chunk.length;
          tries = 1;
          yield chunk;
        }
        if (position < end) throw new Error(`the response ended ${end - position} bytes early`);
      } catch (error) {
        throwIfAborted(signal);
        if ([404, 412].includes(statusOf(error) ?? 0) || tries >= MAX_TRIES) throw unavailable('GetObject', key, error);
        await pause(backoffMs(tries, RETRY));
        tries += 1;
      }
      output = undefined;
    }
  }
}

const attempt = async <T>(operation: string, key: string, run: () => Promise<T>): Promise<T> => {
  try {
    return await run();
  } catch (cause) {
    throw unavailable(operation, key, cause);
  }
};

/** Undefined when the object is missing. */
const orMissing = <T>(operation: string, key: string, run: () => Promise<T>): Promise<T | undefined> =>
  attempt(operation, key, () =>
    run().catch((error: unknown) => {
      if (statusOf(error) === 404 && nameOf(error) !== 'NoSuchBucket') return undefined;
      throw error;
    }),
  );

const empty = (etag: string): OpenObject => ({ sizeBytes: 0, etag, chunks: (async function* () {})() });

const md5 = (bytes: Uint8Array): string => createHash('md5').update(bytes).digest('base64');

/** @throws when the server has sent other bytes than [position, …) */
const checkRange = ({ ContentRange }: GetObjectCommandOutput, position: number): void => {
  const sent = ContentRange === undefined ? 0 : Number(/^bytes (\d+)-/.exec(ContentRange)?.[1]);
  if (sent !== position) throw new Error(`the S3 server answered with byte ${sent} instead of ${position}`);
};

/** The HTTP status of a response that was a failure. */
const statusOf = (error: unknown): number | undefined =>
  (error as { $metadata?: { httpStatusCode?: number } } | undefined)?.$metadata?.httpStatusCode;

/** The code of a failure, such as `NoSuchBucket` or `ECONNREFUSED`. */
const nameOf = (error: unknown): string => {
  const { code, Code, name } = (error ?? {}) as { code?: unknown; Code?: unknown; name?: unknown };
  return String(Code ?? code ?? name ?? 'Error');
};

/** In one line: the client's own errors carry the connection, with all of its buffers. */
const describeFailure = (error: unknown): string =>
  `${nameOf(error)}: ${error instanceof Error ? error.message : String(error)}`;

const unavailable = (operation: string, key: string, cause: unknown): KinoraError =>
  isKinoraError(cause)
    ? cause
    : new KinoraError('unavailable', {
        cause: new Error(describeFailure(cause)),
        details: { stage: 's3', operation, key, reason: nameOf(cause), status: statusOf(cause) },
      });
