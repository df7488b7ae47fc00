/** The names under which an asset's blobs are stored. */
export const sourceKey = (assetId: string): string => `assets/${assetId}/source`;
export const indexKey = (assetId: string): string => `assets/${assetId}/index.bin`;
export const mezzanineKey = (assetId: string): string => `assets/${assetId}/mezzanine.mp4`;
export const mezzanineIndexKey = (assetId: string): string => `assets/${assetId}/mezzanine-index.bin`;
/** A copy of an MPEG stream with its recordings laid end to end. */
export const joinedKey = (assetId: string): string => `assets/${assetId}/joined.ts`;
export const joinedIndexKey = (assetId: string): string => `assets/${assetId}/joined-index.bin`;
/** Everything of one asset, for deletion. */
export const assetPrefix = (assetId: string): string => `assets/${assetId}`;
