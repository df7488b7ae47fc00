import { open } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { LRUCache } from 'lru-cache';
import { type ByteRange, type ByteRanges, mergeRanges } from '../lib/byte-ranges.js';
import { isKinoraError } from '../lib/errors.js';
import { listBoxes } from '../media/mp4/box-reader.js';
import { findMoov } from '../media/mp4/sample-tables.js';
import { neededRanges } from '../media/source/needed-ranges.js';
import type { SourceIndex } from '../media/source/source-index.js';
import { decodeSourceIndex } from '../media/source/source-index-codec.js';
import type { BlobStore } from '../storage/blob-store.js';
import { findOpening } from './find-opening.js';
import { audioFileKeys, type FileKeys, type PlayableAsset, videoFileKeys } from './playable-asset.js';
import type { SourceNeed } from './read-source.js';

/** The streams that a job reads from a source, and the range on the asset's timeline in seconds. */
export interface Span {
  readonly streams: { readonly video: boolean; readonly audio: boolean };
  readonly fromSeconds: number;
  readonly untilSeconds: number;
}

export interface SourceRangesDeps {
  readonly blobs: Pick<BlobStore, 'isLocal' | 'openLocal' | 'read'>;
  /** The bytes that a job reads of a source that plays early; undefined for all other sources. */
  readonly earlyRanges: (assetId: string, spans: readonly Span[]) => ByteRanges | undefined;
}

/** A file whose packets can be found, and what opening it reads. */
interface Located {
  readonly index: SourceIndex;
  readonly opening: ByteRanges;
  /** The headers of a fragment are before its packets. */
  readonly headerBytes: number;
}

/** Of all indexes in memory: two hours take about 5 MB. */
const MAX_INDEX_BYTES = 64 * 2 ** 20;
const BYTES_PER_PACKET = 21;
/** What is read at the start of any file, which includes its first frames. */
const HEAD_BYTES = 512 * 1024;
/** More than the header of a fragment of two seconds. */
const FRAGMENT_HEADER_BYTES = 16 * 1024;

const sizeOf = ({ index }: { readonly index?: SourceIndex }): number =>
  1 + ((index?.video?.pts.length ?? 0) + (index?.audio?.pts.length ?? 0)) * BYTES_PER_PACKET;

/**
 * Which bytes of its source a job reads: of sources that play early, and of stored ones where
 * reading them means a copy. Files without a usable index are copied as a whole: the others than
 * MP4, MOV, Matroska and WebM, and fragmented MP4 that Kinora has not written.
 */
export class SourceRanges {
  /** Without `index`: the file is read as a whole. */
  private readonly located = new LRUCache<string, Partial<Located>>({
    maxSize: MAX_INDEX_BYTES,
    sizeCalculation: sizeOf,
  });

  constructor(private readonly deps: SourceRangesDeps) {}

  /** Of the file with the frames. Undefined where the job gets the whole file. */
  ofVideo(asset: PlayableAsset, spans: readonly Span[]): Promise<SourceNeed | undefined> {
    return this.need(asset, videoFileKeys(asset), spans, ({ index }, { fromSeconds, untilSeconds }) => {
      const { timeBase, originTicks, timescale, filters } = asset.plan.video!;
      const zero = originTicks / timescale;
      const streams = { ...VIDEO, startsAtKeyFrame: !filters.deinterlace };
      return neededRanges({ index, videoTimeBase: timeBase }, zero + fromSeconds, zero + untilSeconds, streams);
    });
  }

  /** Of the file with the audio. */
  ofAudio(asset: PlayableAsset, spans: readonly Span[]): Promise<SourceNeed | undefined> {
    return this.need(asset, audioFileKeys(asset), spans, ({ index }, { fromSeconds, untilSeconds }) => {
      const { sourceTimeBase, sourceOrigin } = asset.plan.audio!;
      const zero = (sourceOrigin * sourceTimeBase.num) / sourceTimeBase.den;
      return neededRanges({ index, audioTimeBase: sourceTimeBase }, zero + fromSeconds, zero + untilSeconds, AUDIO);
    });
  }

  private async need(
    asset: PlayableAsset,
    file: FileKeys,
    spans: readonly Span[],
    inSource: (file: Located, span: Span) => ByteRange[],
  ): Promise<SourceNeed | undefined> {
    const early = this.deps.earlyRanges(asset.id, spans);
    if (early) return { ranges: early, isStored: false };
    // Without spans, frames of all of the file are read.
    if (this.deps.blobs.isLocal || spans.length === 0) return undefined;
    const { index, opening, headerBytes } = await this.locate(file);
    if (!index || !opening || headerBytes === undefined) return undefined;
    const needed = spans.flatMap((span) => inSource({ index, opening, headerBytes }, span));
    const widened = needed.map(({ start, end }) => ({ start: Math.max(start - headerBytes, 0), end }));
    return { ranges: mergeRanges([...opening, ...widened]), isStored: true };
  }

  private async locate({ key, indexKey, isMezzanine }: FileKeys): Promise<Partial<Located>> {
    const cached = this.located.get(key);
    if (cached) return cached;
    const [head, stream] = await Promise.all([
      this.readPart(key, 0, HEAD_BYTES).catch((error: unknown) => {
        if (isKinoraError(error, 'not_found')) return undefined;
        throw error;
      }),
      this.deps.blobs.read(indexKey),
    ]);
    // Deleted meanwhile, or not indexed yet.
    if (!head || !stream) return {};
    const index = decodeSourceIndex(await buffer(stream));
    const read = async (offset: number, length: number): Promise<Buffer> =>
      offset + length <= head.bytes.length
        ? head.bytes.subarray(offset, offset + length)
        : (await this.readPart(key, offset, length)).bytes;
    const opening = await findOpening(read, head.sizeBytes);
    const moov = await findMoov(read, head.sizeBytes);
    const isFragmented = moov !== undefined && hasFragments(moov);
    const first = index.video?.position[0] ?? -1;
    const isUsable =
      typeof opening !== 'string' && (!isFragmented || (isMezzanine && first > 0 && hasIndex(await read(0, first))));
    const result = isUsable
      ? {
          index,
          opening: [{ start: 0, end: isFragmented ? first : HEAD_BYTES }, ...opening],
          headerBytes: isFragmented ? FRAGMENT_HEADER_BYTES : 0,
        }
      : {};
    this.located.set(key, result);
    return result;
  }

  /** Through the copy that jobs read, so that nothing is fetched twice. */
  private async readPart(key: string, start: number, length: number): Promise<{ bytes: Buffer; sizeBytes: number }> {
    const blob = await this.deps.blobs.openLocal(key, [{ start, end: start + length }]);
    try {
      const file = await open(blob.path);
      try {
        const { size: sizeBytes } = await file.stat();
        const { bytesRead, buffer: bytes } = await file.read(Buffer.alloc(length), 0, length, start);
        return { bytes: bytes.subarray(0, bytesRead), sizeBytes };
      } finally {
        await file.close();
      }
    } finally {
      await blob.release();
    }
  }
}

const VIDEO = { video: true, audio: false };
const AUDIO = { video: false, audio: true };

const hasFragments = (moov: Uint8Array): boolean => {
  const root = listBoxes(moov)?.[0];
  return !root || (listBoxes(moov, root.content, root.end)?.some(({ type }) => type === 'mvex') ?? true);
};

/** Whether the part of the file before the first packet says where every fragment is. */
const hasIndex = (head: Uint8Array): boolean => Buffer.from(head).includes('sidx', 0, 'latin1');
