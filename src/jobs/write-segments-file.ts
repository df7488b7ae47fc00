import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { throwIfAborted } from '../lib/abort.js';
import { KinoraError } from '../lib/errors.js';
import { concat } from '../media/mp4/box-writer.js';
import { readFragmentIndexes, splitFragment, writeProgressiveHeader } from '../media/mp4/progressive.js';
import type { FragmentSamples } from '../media/mp4/sample-table-writer.js';
import { GENERATION } from '../media/plan/generation.js';
import type { PlayableAsset } from '../packager/playable-asset.js';
import type { SegmentProducer } from '../packager/segment-producer.js';
import { mediaPriority } from '../pool/media-pool.js';
import type { BlobStore } from '../storage/blob-store.js';

export interface SegmentsFileDeps {
  readonly producer: Pick<SegmentProducer, 'segment'>;
  readonly blobs: BlobStore;
}

/** A stream of a file: the segments of a rendition. */
export interface SegmentsTrack {
  readonly rendition: string;
  readonly segmentCount: number;
}

export interface SegmentsFile {
  /** Its `further` lists the renditions that are not in the plan. */
  readonly asset: PlayableAsset;
  readonly tracks: readonly SegmentsTrack[];
  /** The key of the finished file. */
  readonly key: string;
  /**
   * The prefix of the parts collected so far; the caller removes them when the file is no longer
   * being made.
   */
  readonly partsPrefix: string;
  readonly signal: AbortSignal;
  /** 0 to 1, after each part; throws to cancel. */
  readonly onProgress: (fraction: number) => Promise<void>;
}

/**
 * The number of segments of each track that are stored together, and the most that a killed run
 * loses. It equals the number that one audio job makes.
 */
const PART_SEGMENTS = 8;
const MAX_READS = 3;

/**
 * Collects the segments that viewers also get, one at a time and with a lower priority than
 * viewers, and adds an index at the start. They are stored in parts, so that a restart continues
 * after the last one even if the cache has evicted segments.
 */
export const writeSegmentsFile = async (
  deps: SegmentsFileDeps,
  file: SegmentsFile,
): Promise<{ sizeBytes: number; durationSeconds: number }> => writeFile(deps, file, await collectParts(deps, file));

/** Parts of an earlier generation do not match newly made ones. */
const partKey = ({ partsPrefix }: SegmentsFile, part: number, name: 'samples' | 'index'): string =>
  `${partsPrefix}/${GENERATION}/${part}.${name}`;

const countParts = ({ tracks }: SegmentsFile): number =>
  Math.ceil(Math.max(...tracks.map(({ segmentCount }) => segmentCount)) / PART_SEGMENTS);

/** The segments of a part in file order: segments of the same time are next to each other. */
const segmentsOf = ({ tracks }: SegmentsFile, part: number): { readonly track: number; readonly number: number }[] =>
  Array.from({ length: PART_SEGMENTS }, (_, at) => part * PART_SEGMENTS + at).flatMap((number) =>
    tracks.flatMap(({ segmentCount }, track) => (number < segmentCount ? [{ track, number }] : [])),
  );

/** @returns the samples of each track; their bytes are in the parts */
const collectParts = async (deps: SegmentsFileDeps, file: SegmentsFile): Promise<FragmentSamples[][]> => {
  const fragments: FragmentSamples[][] = file.tracks.map(() => []);
  const count = countParts(file);
  for (let part = 0; part < count; part++) {
    const stored = await deps.blobs.read(partKey(file, part, 'index'));
    const indexes = readFragmentIndexes(stored ? await buffer(stored) : await makePart(deps, file, part));
    for (const [at, { track }] of segmentsOf(file, part).entries()) fragments[track]!.push(indexes[at]!);
    await file.onProgress((part + 1) / count);
  }
  return fragments;
};

/** Stores the samples of a part and then their index: if the index exists, the part is complete. */
const makePart = async (deps: SegmentsFileDeps, file: SegmentsFile, part: number): Promise<Uint8Array> => {
  const indexes: Uint8Array[] = [];
  const target = await deps.blobs.resumeWrite(partKey(file, part, 'samples'));
  try {
    await target.restart();
    for (const { track, number } of segmentsOf(file, part)) {
      const { index, samples } = splitFragment(await readSegment(deps, file, track, `${number}.m4s`));
      await target.write(samples);
      indexes.push(index);
    }
    await target.commit();
  } catch (error) {
    await target.discard();
    throw error;
  }
  const index = concat(indexes);
  await deps.blobs.put(partKey(file, part, 'index'), index);
  return index;
};

const readSegment = async (
  deps: SegmentsFileDeps,
  { asset, tracks, signal }: SegmentsFile,
  track: number,
  name: string,
): Promise<Uint8Array> => {
  const request = { priority: mediaPriority.background, signal };
  for (let attempt = 1; ; attempt++) {
    const cached = await deps.producer.segment(asset, tracks[track]!.rendition, name, request);
    try {
      return await readFile(cached.path);
    } catch (error) {
      // Evicted between the two calls.
      if (attempt === MAX_READS || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
};

const writeFile = async (
  deps: SegmentsFileDeps,
  file: SegmentsFile,
  fragments: readonly FragmentSamples[][],
): Promise<{ sizeBytes: number; durationSeconds: number }> => {
  const { blobs } = deps;
  const inits = await Promise.all(file.tracks.map((_, track) => readSegment(deps, file, track, 'init.mp4')));
  const header = writeProgressiveHeader(inits.map((init, track) => ({ init, fragments: fragments[track]! })));
  const target = await blobs.resumeWrite(file.key);
  try {
    await target.restart();
    await target.write(header.bytes);
    for (let part = 0; part < countParts(file); part++) {
      throwIfAborted(file.signal);
      const samples = await blobs.read(partKey(file, part, 'samples'));
      if (!samples) throw new KinoraError('not_found');
      for await (const chunk of samples) await target.write(chunk as Uint8Array);
    }
    const expectedBytes = header.bytes.length + header.dataBytes;
    if (target.offsetBytes !== expectedBytes) {
      const details = { stage: 'file of segments', size_bytes: target.offsetBytes, expected_bytes: expectedBytes };
      throw new KinoraError('internal_error', { details });
    }
    const { sizeBytes } = await target.commit();
    return { sizeBytes, durationSeconds: header.durationSeconds };
  } catch (error) {
    await target.discard();
    throw error;
  }
};
