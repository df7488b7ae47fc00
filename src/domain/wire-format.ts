import type { Row } from '../db/schema.js';
import type { LiveStreamView } from '../db/tables/live/live-stream.js';
import type { AssetView, RenditionRecord, ShotsView, TrackRecord } from './asset-view/asset-view.js';
import type { AssetRequest, UploadRequest, VideoQuality } from './requests/asset-request.js';
import type { BudgetView } from './usage/budget-view.js';

/**
 * How resources and requests look as JSON. `api/wire-format.ts` implements it; it is an interface,
 * because the domain must not import `api`.
 */
export interface WireFormat {
  /** As in responses. */
  asset(view: AssetView): object;
  /** As in events, like the next ones. */
  assetEvent(view: AssetView): object;
  assetWarning(asset: Row<'asset'>, warning: { readonly type: string; readonly message: string }): object;
  trackEvent(track: TrackRecord): object;
  renditionEvent(rendition: RenditionRecord): object;
  /** `asset` identifies the shots for receivers. */
  shotsEvent(view: ShotsView, asset: Pick<Row<'asset'>, 'passthrough' | 'meta'>): object;
  uploadEvent(upload: Row<'upload'>): object;
  liveStreamEvent(liveStream: LiveStreamView): object;
  liveStreamWarning(
    liveStream: Row<'live_stream'>,
    warning: { readonly type: string; readonly message: string },
  ): object;
  simulcastTargetEvent(target: Row<'simulcast_target'>): object;
  deliveryBudgetEvent(budget: BudgetView): object;
  webhook(webhook: Row<'webhook'>): object;
  /** The body of a request for an upload. @throws KinoraError `invalid_parameters` */
  readUpload(body: unknown, defaultVideoQuality: VideoQuality): UploadRequest;
  /**
   * The settings for the assets of a live stream, which were valid when they were stored.
   * @throws KinoraError `invalid_parameters`
   */
  readLiveAsset(newAssetSettings: object): AssetRequest;
  /** The body of a request for a playback restriction. @throws KinoraError `invalid_parameters` */
  readPlaybackRestriction(body: unknown): Pick<Row<'playback_restriction'>, 'referrer' | 'user_agent'>;
}
