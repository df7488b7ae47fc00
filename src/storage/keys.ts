/** Everything is below it. */
export const ASSETS_PREFIX = 'assets/';

/** The names under which an asset's blobs are stored. */
export const sourceKey = (assetId: string): string => `assets/${assetId}/source`;
export const isSourceKey = (key: string): boolean => /^assets\/[^/]+\/source$/.test(key);
/** Where the source with this key is, if it stays in its bucket. */
export const sourceLinkKey = (key: string): string => `${key}-link.json`;
export const indexKey = (assetId: string): string => `assets/${assetId}/index.bin`;
export const mezzanineKey = (assetId: string): string => `assets/${assetId}/mezzanine.mp4`;
export const mezzanineIndexKey = (assetId: string): string => `assets/${assetId}/mezzanine-index.bin`;
/** A copy of an MPEG stream with its recordings joined end to end. */
export const concatenatedKey = (assetId: string): string => `assets/${assetId}/joined.ts`;
export const concatenatedIndexKey = (assetId: string): string => `assets/${assetId}/joined-index.bin`;
/** The overlay image of input `position` as fetched, until its pixels are stored. */
export const overlayImageKey = (assetId: string, position: number): string =>
  `assets/${assetId}/overlay-${position}.image`;
/** The pixels of the overlay of input `position` (media/overlay/file.ts). */
export const overlayKey = (assetId: string, position: number): string => `assets/${assetId}/overlay-${position}.rgba`;
/** What is recorded of a broadcast so far, for other servers, until its end. */
export const liveReplicaPrefix = (assetId: string): string => `assets/${assetId}/live`;
/** The image of the slate of a broadcast, until its end. */
export const slateImageKey = (assetId: string): string => `assets/${assetId}/slate.image`;
/** The file of a track that is not part of the source. */
export const trackSourceKey = (assetId: string, trackId: string): string =>
  `assets/${assetId}/tracks/${trackId}/source`;
export const trackIndexKey = (assetId: string, trackId: string): string =>
  `assets/${assetId}/tracks/${trackId}/index.bin`;
/** A copy of an MPEG stream with its recordings joined end to end. */
export const trackConcatenatedKey = (assetId: string, trackId: string): string =>
  `assets/${assetId}/tracks/${trackId}/joined.ts`;
export const trackConcatenatedIndexKey = (assetId: string, trackId: string): string =>
  `assets/${assetId}/tracks/${trackId}/joined-index.bin`;
/**
 * The file that an alternate audio track plays; `joined` for the copy with joined recordings. A
 * track that is a stream of an asset's main file has the ID of the asset.
 */
export const alternateAudioKey = (assetId: string, trackId: string, joined: boolean): string => {
  if (trackId === assetId) return sourceKey(assetId);
  return (joined ? trackConcatenatedKey : trackSourceKey)(assetId, trackId);
};
/** Everything of one track, for deletion. */
export const trackPrefix = (assetId: string, trackId: string): string => `assets/${assetId}/tracks/${trackId}`;
/** A text track as viewers get it, in WebVTT. */
export const trackTextKey = (assetId: string, trackId: string): string => `${trackPrefix(assetId, trackId)}/text.vtt`;
/** The positions and times of its cues. */
export const trackTextIndexKey = (assetId: string, trackId: string): string =>
  `${trackPrefix(assetId, trackId)}/text-index.bin`;
/** The recognized words of a track and their times. */
export const trackWordsKey = (assetId: string, trackId: string): string =>
  `${trackPrefix(assetId, trackId)}/words.json`;
/** What speech recognition has found so far. */
export const speechPrefix = (assetId: string, trackId: string): string => `${trackPrefix(assetId, trackId)}/speech`;
export const speechPartKey = (assetId: string, trackId: string, part: number): string =>
  `${speechPrefix(assetId, trackId)}/part-${part}.json`;
export const speechWindowKey = (assetId: string, trackId: string, window: number): string =>
  `${speechPrefix(assetId, trackId)}/window-${window}.json`;
/** Every master of one asset. */
export const mastersPrefix = (assetId: string): string => `assets/${assetId}/masters`;
/** What belongs to one order of a master. */
export const masterPrefix = (assetId: string, masterId: string): string => `${mastersPrefix(assetId)}/${masterId}`;
export const masterKey = (assetId: string, masterId: string): string => `${masterPrefix(assetId, masterId)}/file`;
/** Only needed until the file is finished. */
export const masterPartsPrefix = (assetId: string, masterId: string): string =>
  `${masterPrefix(assetId, masterId)}/parts`;
/** Audio for frames that are copied from elsewhere. */
export const masterAudioKey = (assetId: string, masterId: string): string =>
  `${masterPrefix(assetId, masterId)}/parts/sound`;
/** What shot detection has found so far for one order. */
export const shotScoresKey = (assetId: string, orderId: string, chunk: number): string =>
  `${shotScoresPrefix(assetId, orderId)}/${chunk}.json`;
export const shotScoresPrefix = (assetId: string, orderId: string): string => `${shotsPrefix(assetId)}/${orderId}`;
/** Shot detection results for every order of one asset. */
export const shotsPrefix = (assetId: string): string => `assets/${assetId}/shots`;
/** The file of a static rendition. */
export const renditionKey = (assetId: string, renditionId: string): string =>
  `${renditionPrefix(assetId, renditionId)}/file`;
/** Every static rendition of one asset. */
export const renditionsPrefix = (assetId: string): string => `assets/${assetId}/renditions`;
/** Everything of one static rendition. */
export const renditionPrefix = (assetId: string, renditionId: string): string =>
  `${renditionsPrefix(assetId)}/${renditionId}`;
/** The parts of an unfinished file. */
export const renditionPartsPrefix = (assetId: string, renditionId: string): string =>
  `${renditionPrefix(assetId, renditionId)}/parts`;
/** Everything of one asset, for deletion. */
export const assetPrefix = (assetId: string): string => `assets/${assetId}`;
/** Objects with the last bytes of an unfinished write of `key`. */
export const tailsPrefix = (key: string): string => `${key}-tails`;
