import { setTimeout as pause } from 'node:timers/promises';
import pLimit, { type LimitFunction } from 'p-limit';
import { createInTurn } from '../../lib/in-turn.js';
import { readRecordHead } from '../../media/live/recording-format.js';
import type { BlobStore } from '../../storage/blob-store.js';
import { readBlob } from '../../storage/blob-store.js';
import { liveReplicaPrefix, sourceKey } from '../../storage/keys.js';
import type { Logger } from '../../telemetry/logger.js';
import { type IndexRecord, joinBlocks, type ReplicaIndex } from './replica-index.js';

/**
 * The replica of an unfinished recording in the bucket, from which another server continues it: its
 * bytes in the order of the file, as objects `<term>-<offset>`, and an index of them, as objects
 * `index-<term>-<offset>`, which may be some seconds old. An unfinished upload of the file itself
 * can't be read.
 *
 * A term is one server's time with the recording. Objects of a later term replace everything of
 * earlier ones from their first byte on, so a server that does not know yet that it has lost the
 * recording does no harm. What is replicated was synced before: it never changes within a term.
 */

export type ReplicaStore = Pick<BlobStore, 'put' | 'read' | 'deletePrefix'> &
  Required<Pick<BlobStore, 'list' | 'abortUploads'>> & {
    /** Of this server; each takes `MAX_CHUNK_BYTES` of memory at most. */
    readonly reads: LimitFunction;
    /** One recording after the other is fetched, behind those that are taken over. */
    readonly fills: LimitFunction;
  };

const READS_IN_FLIGHT = 16;

/** Undefined for blobs that other servers can't read. */
export const replicaStoreOf = (blobs: BlobStore): ReplicaStore | undefined => {
  const { list, abortUploads } = blobs;
  if (!list || !abortUploads) return undefined;
  return {
    put: (key, bytes) => blobs.put(key, bytes),
    read: (key, range) => blobs.read(key, range),
    deletePrefix: (prefix) => blobs.deletePrefix(prefix),
    list: list.bind(blobs),
    abortUploads: abortUploads.bind(blobs),
    reads: pLimit(READS_IN_FLIGHT),
    fills: pLimit(1),
  };
};

/** What the loss of a server costs at most, and the time that its bucket takes. */
const EVERY_MS = 2000;
const MAX_CHUNK_BYTES = 8 * 2 ** 20;
/** What a takeover reads beside the index is as long, at most, and at least as `TAIL_PARTS`. */
const INDEX_EVERY_MS = 8000;
/** The frame that is shown last is in one of so many parts of video. */
export const REORDERED_PARTS = 16;
/** Of sound alone, these are three minutes. */
const MAX_TAIL_RECORDS = 512;

export interface Chunk {
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
  readonly index: ReplicaIndex;
  readonly logger: Logger;
}

/** Keeps a replica up to date while the file grows. */
export class RecordingReplica {
  readonly #options: ReplicaOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #inTurn = createInTurn();
  #copiedBytes: number;
  #indexedAtMs = performance.now();
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
    const copied = this.#inTurn(() => this.#copy({ indexes: true })).then(
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
      const indexes = performance.now() - this.#indexedAtMs >= INDEX_EVERY_MS;
      await this.#inTurn(() => this.#copy({ indexes }));
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) logger.warn({ err: error, asset_id: assetId }, 'recording not replicated, retrying');
      this.#hasFailed = true;
    } finally {
      this.#isCopying = false;
    }
  }

  async #copy({ indexes }: { readonly indexes: boolean }): Promise<void> {
    const { store, assetId, term, source, index } = this.#options;
    const prefix = liveReplicaPrefix(assetId);
    for (let end = await source.sync(); this.#copiedBytes < end && !this.#isStopped; ) {
      const offset = this.#copiedBytes;
      const bytes = await source.read(offset, Math.min(end - offset, MAX_CHUNK_BYTES));
      await store.put(`${prefix}/${term}-${offset}`, bytes);
      this.#copiedBytes += bytes.length;
      index.add(offset, bytes);
    }
    if (!indexes || this.#isStopped) return;
    await index.save(({ startBytes, bytes }) => store.put(`${prefix}/index-${term}-${startBytes}`, bytes));
    this.#indexedAtMs = performance.now();
  }
}

export interface StoredReplica {
  /** In the order of the file, from its start. */
  readonly chunks: readonly Chunk[];
  /** What the chunks have. */
  readonly sizeBytes: number;
  /** Objects of the index, in the order of the file. `endBytes`: how far each counts. */
  readonly index: readonly { readonly key: string; readonly startBytes: number; readonly endBytes: number }[];
}

/** What the bucket has of a recording. */
export const listReplica = async (store: ReplicaStore, assetId: string): Promise<StoredReplica> => {
  const listed: Chunk[] = [];
  const blocks: { readonly key: string; readonly term: number; readonly startBytes: number }[] = [];
  for await (const { key, sizeBytes } of store.list(liveReplicaPrefix(assetId))) {
    const [, index, term, offset] = /\/(index-)?(\d{1,16})-(\d{1,16})$/.exec(key) ?? [];
    if (offset === undefined) continue;
    if (index) blocks.push({ key, term: Number(term), startBytes: Number(offset) });
    else listed.push({ key, term: Number(term), offset: Number(offset), sizeBytes });
  }
  const chunks = chooseChunks(listed);
  const last = chunks.at(-1);
  const sizeBytes = last ? last.offset + last.sizeBytes : 0;
  const endOf = endsOf(listed);
  const sorted = blocks.sort((one, other) => one.startBytes - other.startBytes || one.term - other.term);
  const index = sorted.map(({ key, term, startBytes }) => ({
    ...{ key, startBytes },
    endBytes: Math.min(sizeBytes, endOf(term)),
  }));
  return { chunks, sizeBytes, index };
};

/**
 * The records of a recording that a server need not read to continue it: not the last ones, of
 * which it needs the media.
 * @throws KinoraError `unavailable`
 */
export const readReplicaIndex = async (store: ReplicaStore, { index }: StoredReplica): Promise<IndexRecord[]> => {
  const read = async ({ key, ...place }: StoredReplica['index'][number]) => ({
    ...place,
    bytes: (await readBlob(store, key)) ?? new Uint8Array(),
  });
  const records = joinBlocks(await Promise.all(index.map((block) => store.reads(() => read(block)))));
  const least = Math.max(0, records.length - MAX_TAIL_RECORDS);
  let end = records.length;
  for (let parts = 0; end > least && parts < REORDERED_PARTS; end -= 1) if (isVideo(records[end - 1]!)) parts += 1;
  return records.slice(0, end);
};

const isVideo = ({ bytes }: IndexRecord): boolean => {
  const head = readRecordHead(bytes);
  return head?.kind === 'part' && head.part.track === 'video';
};

/** Removes it, and what lost servers have sent of the file, once the recording is stored. */
export const removeReplica = async (store: ReplicaStore, assetId: string): Promise<void> => {
  await store.deletePrefix(liveReplicaPrefix(assetId));
  await store.abortUploads(sourceKey(assetId));
};

/** Those that follow each other from the start of the file, with the bytes that count of each. */
export const chooseChunks = (listed: readonly Chunk[]): Chunk[] => {
  const endOf = endsOf(listed);
  const chosen: Chunk[] = [];
  let position = 0;
  for (const chunk of [...listed].sort((one, other) => one.offset - other.offset || one.term - other.term)) {
    const sizeBytes = Math.min(chunk.sizeBytes, endOf(chunk.term) - chunk.offset);
    if (sizeBytes <= 0) continue;
    if (chunk.offset !== position) break;
    chosen.push({ ...chunk, sizeBytes });
    position += sizeBytes;
  }
  return chosen;
};

/** Up to where the bytes of a term count. */
const endsOf = (listed: readonly Chunk[]): ((term: number) => number) => {
  const firstOffsets = new Map<number, number>();
  for (const { term, offset } of listed)
    firstOffsets.set(term, Math.min(offset, firstOffsets.get(term) ?? Number.POSITIVE_INFINITY));
  const ends = new Map<number, number>();
  return (term) => {
    const cached = ends.get(term);
    if (cached !== undefined) return cached;
    const end = Math.min(...[...firstOffsets].flatMap(([later, offset]) => (later > term ? [offset] : [])));
    ends.set(term, end);
    return end;
  };
};
