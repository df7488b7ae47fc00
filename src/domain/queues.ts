import type { JobQueue } from '../queue/queue.js';

/** Without `keyOf`, every call creates a new job. */
export const queue = <P>(name: string, keyOf?: (payload: P) => string): JobQueue<P> => ({
  name,
  ...(keyOf && { keyOf }),
});

interface AssetPayload {
  readonly assetId: string;
}
export interface TrackPayload {
  readonly trackId: string;
}
interface MasterPayload extends AssetPayload {
  readonly masterId: string;
}
interface ShotsPayload extends AssetPayload {
  readonly orderId: string;
}
interface RenditionPayload extends AssetPayload {
  readonly renditionId: string;
}
/** For a robots job: captions that become a track when the job ends, if at all. */
export interface CaptionsPayload {
  readonly robotsJobId: string;
  readonly audioTrackId: string;
}
export type RecognitionPayload = TrackPayload | CaptionsPayload;

/**
 * Every queue with the payload of its jobs and the key that identifies equal work; those of robots
 * are in their room.
 */
export const queues = {
  /** From a URL to a ready asset. */
  ingest: queue<AssetPayload>('ingest', ({ assetId }) => assetId),
  /**
   * The same for assets that take long, because they need a mezzanine or are read completely: they
   * must not delay the others.
   */
  transcode: queue<AssetPayload>('transcode', ({ assetId }) => assetId),
  ingestTrack: queue<TrackPayload>('ingest-track', ({ trackId }) => trackId),
  /** Reads the text streams of an asset's file. */
  readEmbeddedText: queue<AssetPayload>('embedded-text', ({ assetId }) => assetId),
  /** Turns speech into text. */
  recognizeSpeech: queue<RecognitionPayload>('recognize-speech', (payload) =>
    'trackId' in payload ? payload.trackId : payload.robotsJobId,
  ),
  makeRendition: queue<RenditionPayload>('make-static-rendition', ({ renditionId }) => renditionId),
  makeMaster: queue<MasterPayload>('master', ({ masterId }) => masterId),
  endMaster: queue<MasterPayload>('end-master', ({ masterId }) => masterId),
  findShots: queue<ShotsPayload>('shots', ({ orderId }) => orderId),
  /** Makes what is watched most of an asset in AV1, then lists it. */
  prepareAv1: queue<AssetPayload>('prepare-av1', ({ assetId }) => assetId),
  timeOutUpload: queue<{ readonly uploadId: string }>('time-out-upload', ({ uploadId }) => uploadId),
  /** Enqueued at each start: uploads that a stopped server left to be settled. */
  settleUploads: queue<object>('settle-uploads', () => 'start'),
  /** Removes the files of a deleted asset; runs twice, the second time with `isLast`. */
  purgeAsset: queue<AssetPayload & { readonly isLast?: boolean }>('purge', ({ assetId, isLast }) =>
    isLast ? `${assetId} last` : assetId,
  ),
  purgeTrack: queue<AssetPayload & TrackPayload>('purge-track'),
  purgeRendition: queue<RenditionPayload>('purge-static-rendition', ({ renditionId }) => renditionId),
  deleteTestAsset: queue<AssetPayload>('delete-test-asset', ({ assetId }) => assetId),
};
