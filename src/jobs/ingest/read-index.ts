import { open } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { findMoov, type Mp4Streams, type ReadRange, readMp4SampleTables } from '../../media/mp4-sample-tables.js';
import type { SourceIndex } from '../../media/source-index.js';
import { decodeSourceIndex, encodeSourceIndex } from '../../media/source-index-codec.js';
import { type MediaPool, mediaPriority } from '../../pool/media-pool.js';
import { readResult } from '../../pool/read-result.js';
import type { BlobStore } from '../../storage/blob-store.js';
import { withTemporaryFile } from './temporary-file.js';

export interface IndexDeps {
  readonly blobs: BlobStore;
  readonly pool: MediaPool;
  readonly temporaryDir: string;
}

/** Several times the index of twelve hours at 120 pictures a second. */
const MAX_INDEX_BYTES = 2 ** 30;

/** The part of `SourceFacts` that says which streams to index. */
export interface IndexedStreams {
  readonly formatName: string;
  readonly video?: { readonly streamIndex: number };
  /** The first one is indexed. */
  readonly audio: readonly { readonly streamIndex: number }[];
}

/**
 * The stored index under `key`, else the sample tables of an MP4 or MOV file (milliseconds), else one demux pass over the
 * file at `path`; stored for the next run.
 */
export const readIndex = async (
  deps: IndexDeps,
  key: string,
  path: string,
  source: IndexedStreams,
  signal: AbortSignal,
): Promise<SourceIndex> => {
  const stored = await deps.blobs.read(key);
  if (stored) return decodeSourceIndex(await buffer(stored));
  const streams = {
    ...(source.video && { videoStreamIndex: source.video.streamIndex }),
    ...(source.audio[0] && { audioStreamIndex: source.audio[0].streamIndex }),
  };
  const tables = source.formatName.startsWith('mov') ? await readTables(path, streams) : undefined;
  const bytes = tables ? encodeSourceIndex(tables) : await demux(deps, path, source.formatName, streams, signal);
  await deps.blobs.put(key, bytes);
  return tables ?? decodeSourceIndex(bytes);
};

/** Undefined when the file has no tables that say what FFmpeg's demuxer would: fragments, damage, complicated edits. */
const readTables = async (path: string, streams: Mp4Streams): Promise<SourceIndex | undefined> => {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const read: ReadRange = async (offset, length) => {
      const { buffer: bytes, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
      return bytes.subarray(0, bytesRead);
    };
    const moov = await findMoov(read, size);
    const index = moov && readMp4SampleTables(moov, streams);
    return index && liesWithin(index, size) ? index : undefined;
  } finally {
    await file.close();
  }
};

/** False for a truncated file, whose tables promise samples that are not there. */
const liesWithin = (index: SourceIndex, sizeBytes: number): boolean =>
  [index.video, index.audio].every(
    (stream) => !stream?.position.some((position, packet) => position + stream.size[packet]! > sizeBytes),
  );

const demux = (
  deps: IndexDeps,
  path: string,
  formatName: string,
  streams: Mp4Streams,
  signal: AbortSignal,
): Promise<Uint8Array> =>
  withTemporaryFile(deps.temporaryDir, async (outPath) => {
    const job = { kind: 'index', source: { path, formatName }, ...streams, outPath } as const;
    await deps.pool.run(job, { priority: mediaPriority.warmUp, signal });
    return readResult(outPath, MAX_INDEX_BYTES);
  });
