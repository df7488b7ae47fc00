import type { Clock } from '../../lib/clock.js';
import { KinoraError } from '../../lib/errors.js';
import type { LatencyMode } from '../../media/live/live-track.js';
import { writeFact, writeRecordingStart } from '../../media/live/recording-format.js';
import type { LocalWrite } from '../../storage/blob-store.js';
import type { Logger } from '../../telemetry/logger.js';
import { MissingBytes, readChunks } from './missing-bytes.js';
import { endOf, type RecordedSoFar, readBack } from './read-back.js';
import type { ReadFile } from './recorded-track.js';
import { listReplica, type ReplicaStore, readReplicaIndex, type StoredReplica } from './replica.js';
import { ReplicaIndex } from './replica-index.js';

export interface ReplicaUse {
  readonly store: ReplicaStore;
  /** See `RecordingReplica`. */
  readonly term: number;
  /** The recording was begun elsewhere: it is continued from the replica. */
  readonly restores: boolean;
  /** The server that had it was lost: the replica may lack its end. */
  readonly isCut?: boolean;
}

interface OpenFileOptions {
  readonly assetId: string;
  readonly latencyMode: LatencyMode;
  /** Of a segment. */
  readonly leastSeconds: number;
  readonly firstSequence: number;
  readonly firstDiscontinuity: number;
  readonly replica?: ReplicaUse | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface OpenedFile {
  readonly soFar: RecordedSoFar | undefined;
  /** How much of it the replica has. */
  readonly replicated: number;
  /** Of what the replica's index may lack. */
  readonly index: ReplicaIndex;
  /** What the file lacks, because the recording was continued from its end. */
  readonly missing: MissingBytes | undefined;
  /** The term, if it was read back from the replica. */
  readonly takeover: number | undefined;
}

/** What viewers may have seen that is not replicated yet, while the bucket is available. */
const MAX_LOST_SECONDS = 3;
const RESTORE_BYTES = 8 * 2 ** 20;
const NOTHING_STORED: StoredReplica = { chunks: [], sizeBytes: 0, index: [] };

/**
 * Reads what was recorded before, or begins. A replica is read from a few seconds before its end.
 * @param readFile for tracks, later
 */
export const openFile = async (
  write: LocalWrite,
  readFile: ReadFile,
  { assetId, logger, replica, leastSeconds: seconds, ...begun }: OpenFileOptions,
): Promise<OpenedFile> => {
  if (write.missing && !replica)
    throw new KinoraError('unavailable', {
      details: { stage: 'replica', reason: 'the bucket has a part of the file' },
    });
  const stored = replica ? await listReplica(replica.store, assetId) : NOTHING_STORED;
  // A server that was stopped while it read the replica back has only the beginning.
  const restores = replica !== undefined && (replica.restores || stored.sizeBytes > write.offsetBytes);
  const listed = replica && (restores || write.missing) ? await readReplicaIndex(replica.store, stored) : [];
  if (restores) await restoreEnd(replica.store, stored, { write, from: endOf(listed) });
  const { missing: range } = write;
  // What was indexed later is in the file.
  const indexed = listed.filter(({ offset, sizeBytes }) => offset + sizeBytes <= (range?.end ?? 0));
  const { chunks } = stored;
  const missing = range && replica && new MissingBytes({ store: replica.store, chunks, file: write, assetId, logger });
  const count = restores && replica.isCut ? Math.ceil(MAX_LOST_SECONDS / seconds) : 0;
  const index = new ReplicaIndex(endOf(indexed) || undefined);
  const read: ReadFile = (offset, length) => (missing ?? write).read(offset, length);
  const soFar = await readBack(write, readFile, { read, indexed, lost: { count, seconds }, index });
  if (!soFar && write.offsetBytes > 0) await write.restart();
  const replicated = Math.min(stored.sizeBytes, write.offsetBytes);
  if (!soFar) await beginFile(write, begun);
  for (const record of soFar?.missing ?? []) await write.write(writeFact({ type: 'empty', ...record }));
  const takeover = restores ? replica.term : undefined;
  if (takeover !== undefined) await write.write(writeFact({ type: 'takeover', version: takeover }));
  await write.flush();
  missing?.begin();
  return { soFar, replicated, index, missing, takeover };
};

/** Reads the replica from a record on, instead of a file of an earlier time with the recording. */
const restoreEnd = async (
  store: ReplicaStore,
  { chunks, sizeBytes }: StoredReplica,
  { write, from }: { readonly write: LocalWrite; readonly from: number },
): Promise<void> => {
  await write.startAt(from);
  for (let start = from; start < sizeBytes; start += RESTORE_BYTES)
    await write.write(await readChunks({ store, chunks }, { start, end: Math.min(start + RESTORE_BYTES, sizeBytes) }));
  await write.flush();
};

const beginFile = async (
  write: LocalWrite,
  {
    clock,
    latencyMode,
    firstSequence,
    firstDiscontinuity,
  }: Pick<OpenFileOptions, 'latencyMode' | 'firstSequence' | 'firstDiscontinuity' | 'clock'>,
): Promise<void> => {
  const wallMs = clock.now().getTime();
  await write.write(writeRecordingStart());
  await write.write(writeFact({ type: 'start', version: 1, latencyMode, firstSequence, firstDiscontinuity, wallMs }));
};
