import type { ByteRanges } from '../lib/byte-ranges.js';
import type { MediaSource } from '../pool/protocol.js';
import type { BlobStore, LocalBlob } from '../storage/blob-store.js';
import { overlayKey } from '../storage/keys.js';
import { type PlayableAsset, videoKey } from './playable-asset.js';

/** The files that frames are made of, while they may be read. */
export class OpenFrames {
  /** @throws KinoraError `not_found` when the asset was deleted meanwhile */
  static async open(blobs: BlobStore, asset: PlayableAsset, needed?: ByteRanges): Promise<OpenFrames> {
    const overlays = asset.plan.video?.filters.overlays ?? [];
    const opened: LocalBlob[] = [];
    try {
      opened.push(await blobs.openLocal(videoKey(asset), needed));
      for (const { assetId, input } of overlays) opened.push(await blobs.openLocal(overlayKey(assetId, input)));
    } catch (error) {
      await release(opened);
      throw error;
    }
    return new OpenFrames(opened);
  }

  private constructor(private readonly blobs: readonly LocalBlob[]) {}

  get source(): Pick<MediaSource, 'path' | 'staged'> {
    return readPart(this.blobs[0]!);
  }

  /** In the order of the plan. */
  get overlayPaths(): readonly string[] {
    return this.blobs.slice(1).map(({ path }) => path);
  }

  release(): Promise<void> {
    return release(this.blobs);
  }
}

const release = async (blobs: readonly LocalBlob[]): Promise<void> => {
  await Promise.all(blobs.map((blob) => blob.release()));
};

/** What a job is told of a file that it reads. */
export const readPart = ({ path, staged }: LocalBlob): Pick<MediaSource, 'path' | 'staged'> => ({ path, staged });
