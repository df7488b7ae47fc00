import { setTimeout as pause } from 'node:timers/promises';
import type { ByteRange } from '../../lib/byte-ranges.js';
import { KinoraError } from '../../lib/errors.js';
import { concat } from '../../media/mp4/box-writer.js';
import type { LocalWrite } from '../../storage/blob-store.js';
import type { Logger } from '../../telemetry/logger.js';
import type { Chunk, ReplicaStore } from './replica.js';

interface MissingBytesOptions {
  readonly store: ReplicaStore;
  readonly chunks: readonly Chunk[];
  /** The file of a recording that was taken over, which has only its end at first. */
  readonly file: Pick<LocalWrite, 'missing' | 'fill' | 'read'>;
  readonly assetId: string;
  readonly logger: Logger;
}

/** Encoders and viewers of everything that is taken over come first. */
const BEGIN_AFTER_MS = 10_000;
const FILL_BYTES = 4 * 2 ** 20;
const RETRY_MS = 2000;

/**
 * What only the replica has of the file of a recording. Viewers who rewind get it from there, until
 * it has been brought to the file in the background, which needs it at its end.
 */
export class MissingBytes {
  readonly #options: MissingBytesOptions;
  readonly #stopping = new AbortController();
  readonly #reading = new Map<string, Promise<Uint8Array>>();
  #filling: Promise<void> | undefined;

  constructor(options: MissingBytesOptions) {
    this.#options = options;
  }

  get sizeBytes(): number {
    const { missing } = this.#options.file;
    return missing ? missing.end - missing.start : 0;
  }

  /** @throws KinoraError `unavailable` when the bucket lacks bytes */
  async read(offset: number, length: number): Promise<Uint8Array> {
    const { file } = this.#options;
    const { missing } = file;
    const end = offset + length;
    if (!missing || offset >= missing.end || end <= missing.start) return file.read(offset, length);
    const stored = this.#readReplica(offset, Math.min(end, missing.end));
    return end <= missing.end ? stored : concat(await Promise.all([stored, file.read(missing.end, end - missing.end)]));
  }

  /** Fills the file when there is time for it. */
  begin(): void {
    const { signal } = this.#stopping;
    void pause(BEGIN_AFTER_MS, undefined, { ref: false, signal })
      .then(async () => {
        for (let hasFailed = false; !(await this.#isFilled(hasFailed)); hasFailed = true)
          await pause(RETRY_MS, undefined, { ref: false, signal });
      })
      .catch(() => undefined);
  }

  async #isFilled(hasFailed: boolean): Promise<boolean> {
    try {
      await this.#options.store.fills(() => this.finish());
      return true;
    } catch (error) {
      const { logger, assetId } = this.#options;
      if (!hasFailed)
        logger.warn({ err: error, asset_id: assetId }, 'recording not fetched from its replica, retrying');
      return this.#stopping.signal.aborted;
    }
  }

  /** Fills the file now. @throws what prevents it */
  finish(): Promise<void> {
    this.#filling ??= this.#fill().finally(() => {
      this.#filling = undefined;
    });
    return this.#filling;
  }

  /** Leaves it as it is. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#filling?.catch(() => undefined);
  }

  async #fill(): Promise<void> {
    const { file } = this.#options;
    for (let { missing } = file; missing; { missing } = file) {
      if (this.#stopping.signal.aborted) throw unavailable('stopped');
      await file.fill(await this.#readReplica(missing.start, Math.min(missing.start + FILL_BYTES, missing.end)));
    }
  }

  /** Viewers who ask for the same bytes share a read. */
  #readReplica(start: number, end: number): Promise<Uint8Array> {
    const name = `${start}-${end}`;
    const reading =
      this.#reading.get(name) ?? readChunks(this.#options, { start, end }).finally(() => this.#reading.delete(name));
    this.#reading.set(name, reading);
    return reading;
  }
}

/** Bytes that the replica has. @throws KinoraError `unavailable` */
export const readChunks = async (
  { store, chunks }: Pick<MissingBytesOptions, 'store' | 'chunks'>,
  { start, end }: ByteRange,
): Promise<Uint8Array> => {
  const read = async ({ key, offset, sizeBytes }: Chunk): Promise<Uint8Array> => {
    const range = { start: Math.max(start - offset, 0), end: Math.min(end - offset, sizeBytes) };
    const stream = await store.read(key, range);
    const bytes = stream && Buffer.concat((await stream.toArray()) as Buffer[]);
    if (bytes?.length !== range.end - range.start) throw unavailable('incomplete', key);
    return bytes;
  };
  const needed = chunks.filter(({ offset, sizeBytes }) => offset < end && offset + sizeBytes > start);
  const bytes = concat(await Promise.all(needed.map((chunk) => store.reads(() => read(chunk)))));
  if (bytes.length !== end - start) throw unavailable('incomplete');
  return bytes;
};

const unavailable = (reason: string, key?: string): KinoraError =>
  new KinoraError('unavailable', { details: { stage: 'replica', reason, ...(key && { key }) } });
