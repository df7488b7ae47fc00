import type { ByteRanges } from '../lib/byte-ranges.js';
import type { MediaSource } from '../pool/protocol.js';
import type { BlobStore, LocalBlob } from '../storage/blob-store.js';
import { overlayKey } from '../storage/keys.js';
import { type PlayableAsset, videoKey } from './playable-asset.js';

/** The files that frames are made of, while they may be read. */
export interface OpenFrames {
  readonly source: Pick<MediaSource, 'path' | 'staged'>;
  /** In the order of the plan. */
  readonly overlayPaths: readonly string[];
  release(): Promise<void>;
}

/** @throws KinoraError `not_found` when the asset was deleted meanwhile */
export const openFrames = async (blobs: BlobStore, asset: PlayableAsset, needed?: ByteRanges): Promise<OpenFrames> => {
  const { video } = asset.plan;
  const overlayKeys = (video?.filters.overlays ?? []).map(({ assetId, input }) => overlayKey(assetId, input));
  const opened: LocalBlob[] = [];
  const release = async (): Promise<void> => {
    await Promise.all(opened.map((blob) => blob.release()));
  };
  try {
    opened.push(await blobs.openLocal(videoKey(asset), needed));
    for (const key of overlayKeys) opened.push(await blobs.openLocal(key));
  } catch (error) {
    await release();
    throw error;
  }
  return { source: readPart(opened[0]!), overlayPaths: opened.slice(1).map(({ path }) => path), release };
};

/** What a job is told of a file that it reads. */
export const readPart = ({ path, staged }: LocalBlob): Pick<MediaSource, 'path' | 'staged'> => ({
  path,
  ...(staged && { staged }),
});
