import { setTimeout as pause } from 'node:timers/promises';
import { KinoraError } from '../../lib/errors.js';
import { createInTurn } from '../../lib/in-turn.js';
import type { BlobStore, LocalWrite } from '../../storage/blob-store.js';
import { readBlob } from '../../storage/blob-store.js';
import { liveReplicaPrefix, sourceKey } from '../../storage/keys.js';
import type { Logger } from '../../telemetry/logger.js';

/**
 * The replica of an unfinished recording in the bucket, from which another server continues it: its
 * bytes in the order of the file, as objects `<term>-<offset>`. An unfinished upload of the file
 * itself can't be read.
 *
 * A term is one server's time with the recording. Objects of a later term replace everything of
 * earlier ones from their first byte on, so a server that does not know yet that it has lost the
 * recording does no harm. What is replicated was synced before: it never changes within a term.
 */

export type ReplicaStore = Pick<BlobStore, 'put' | 'read' | 'deletePrefix'> &
  Required<Pick<BlobStore, 'list' | 'abortUploads'>>;

/** Undefined for blobs that other servers can't read. */
export const replicaStoreOf = (blobs: BlobStore): ReplicaStore | undefined =>
  blobs.list && blobs.abortUploads && (blobs as ReplicaStore);

/** What the loss of a server costs at most, and the time that its bucket takes. */
const EVERY_MS = 2000;
const MAX_CHUNK_BYTES = 8 * 2 ** 20;
/** Of `MAX_CHUNK_BYTES` in memory each. */
const READS_IN_FLIGHT = 8;

interface Chunk {
  readonly key: string;
  readonly term: number;
  readonly offset: number;
  readonly sizeBytes: number;
}

export interface ReplicaSource {
  /** Makes every whole record durable; resolves to where the last one ends. */
  sync(): Promise<number>;
  read(offset: number, length: number): Promise<Uint8Array>;
}

interface ReplicaOptions {
  readonly store: ReplicaStore;
  readonly assetId: string;
  /** Higher than all terms before. */
  readonly term: number;
  /** Replicated already. */
  readonly fromBytes: number;
  readonly source: ReplicaSource;
  readonly logger: Logger;
}

/** Keeps a replica up to date while the file grows. */
export class RecordingReplica {
  readonly #options: ReplicaOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #inTurn = createInTurn();
  #copiedBytes: number;
  #isCopying = false;
  #isStopped = false;
  #hasFailed = false;

  constructor(options: ReplicaOptions) {
    this.#options = options;
    this.#copiedBytes = options.fromBytes;
    this.#timer = setInterval(() => void this.#copySoon(), EVERY_MS).unref();
  }

  /** Replicates everything, and then nothing more. False when that takes longer than `limitMs`. */
  finish(limitMs: number): Promise<boolean> {
    clearInterval(this.#timer);
    return this.catchUp(limitMs);
  }

  /** Replicates what is recorded so far. False when that takes longer than `limitMs`. */
  async catchUp(limitMs: number): Promise<boolean> {
    const copied = this.#inTurn(() => this.#copy()).then(
      () => true,
      () => false,
    );
    return Promise.race([copied, pause(limitMs, false, { ref: false })]);
  }

  /** Replicates nothing more. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#isStopped = true;
    await this.#inTurn(async () => undefined);
  }

  /** The bucket may be unavailable for a while: the file has everything. */
  async #copySoon(): Promise<void> {
    if (this.#isCopying) return;
    this.#isCopying = true;
    const { logger, assetId } = this.#options;
    try {
      await this.#inTurn(() => this.#copy());
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) logger.warn({ err: error, asset_id: assetId }, 'recording not replicated, retrying');
      this.#hasFailed = true;
    } finally {
      this.#isCopying = false;
    }
  }

  async #copy(): Promise<void> {
    const { store, assetId, term, source } = this.#options;
    for (let end = await source.sync(); this.#copiedBytes < end && !this.#isStopped; ) {
      const offset = this.#copiedBytes;
      const bytes = await source.read(offset, Math.min(end - offset, MAX_CHUNK_BYTES));
      await store.put(`${liveReplicaPrefix(assetId)}/${term}-${offset}`, bytes);
      this.#copiedBytes += bytes.length;
    }
  }
}

/** How many bytes from the start of the file the replica has. */
export const replicatedBytes = async (store: ReplicaStore, assetId: string): Promise<number> => {
  const last = (await listChunks(store, assetId)).at(-1);
  return last ? last.offset + last.sizeBytes : 0;
};

/**
 * Writes what the replica has to `write`, which is empty.
 * @throws KinoraError `unavailable`
 */
export const restoreReplica = async (store: ReplicaStore, assetId: string, write: LocalWrite): Promise<void> => {
  const chunks = await listChunks(store, assetId);
  for (let first = 0; first < chunks.length; first += READS_IN_FLIGHT) {
    const some = chunks.slice(first, first + READS_IN_FLIGHT);
    const contents = await Promise.all(some.map(({ key }) => readBlob(store, key)));
    for (const [index, bytes] of contents.entries()) {
      const { key, sizeBytes } = some[index]!;
      if (!bytes || bytes.length < sizeBytes)
        throw new KinoraError('unavailable', { details: { stage: 'replica', key, reason: 'incomplete' } });
      await write.write(bytes.subarray(0, sizeBytes));
    }
  }
  await write.flush();
};

/** Removes it, and what lost servers have sent of the file, once the recording is stored. */
export const removeReplica = async (store: ReplicaStore, assetId: string): Promise<void> => {
  await store.deletePrefix(liveReplicaPrefix(assetId));
  await store.abortUploads(sourceKey(assetId));
};

const listChunks = async (store: ReplicaStore, assetId: string): Promise<Chunk[]> => {
  const listed: Chunk[] = [];
  for await (const { key, sizeBytes } of store.list(liveReplicaPrefix(assetId))) {
    const [, term, offset] = /\/(\d{1,16})-(\d{1,16})$/.exec(key) ?? [];
    if (offset !== undefined) listed.push({ key, term: Number(term), offset: Number(offset), sizeBytes });
  }
  return chooseChunks(listed);
};

/** Those that follow each other from the start of the file, with the bytes that count of each. */
export const chooseChunks = (listed: readonly Chunk[]): Chunk[] => {
  const firstOffsets = new Map<number, number>();
  for (const { term, offset } of listed)
    firstOffsets.set(term, Math.min(offset, firstOffsets.get(term) ?? Number.POSITIVE_INFINITY));
  const endOf = (term: number): number =>
    Math.min(...[...firstOffsets].flatMap(([later, offset]) => (later > term ? [offset] : [])));
  const ends = new Map([...firstOffsets.keys()].map((term) => [term, endOf(term)]));
  const chosen: Chunk[] = [];
  let position = 0;
  for (const chunk of [...listed].sort((one, other) => one.offset - other.offset || one.term - other.term)) {
    const sizeBytes = Math.min(chunk.sizeBytes, ends.get(chunk.term)! - chunk.offset);
    if (sizeBytes <= 0) continue;
    if (chunk.offset !== position) break;
    chosen.push({ ...chunk, sizeBytes });
    position += sizeBytes;
  }
  return chosen;
};
