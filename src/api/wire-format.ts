import type { WireFormat } from '../domain/wire-format.js';
import { serializeAsset, serializeAssetEvent, serializeAssetWarning } from './responses/asset.js';
import { serializeDeliveryBudgetEvent } from './responses/delivery-budget.js';
import {
  serializeLiveStreamEvent,
  serializeLiveStreamWarning,
  serializeSimulcastTargetEvent,
} from './responses/live-stream.js';
import { serializeShotsEvent } from './responses/shots.js';
import { serializeRenditionEvent } from './responses/static-rendition.js';
import { serializeTrackEvent } from './responses/track.js';
import { serializeUploadEvent } from './responses/upload.js';
import { serializeWebhook } from './responses/webhook.js';
import { validateCreateUpload } from './validate/create-upload.js';
import { readLiveAsset } from './validate/live-stream.js';
import { validateCreatePlaybackRestriction } from './validate/playback-restriction.js';

/** What the domain uses of this contract. */
export const wireFormat: WireFormat = {
  asset: serializeAsset,
  assetEvent: serializeAssetEvent,
  assetWarning: serializeAssetWarning,
  trackEvent: serializeTrackEvent,
  renditionEvent: serializeRenditionEvent,
  shotsEvent: serializeShotsEvent,
  uploadEvent: serializeUploadEvent,
  liveStreamEvent: serializeLiveStreamEvent,
  liveStreamWarning: serializeLiveStreamWarning,
  simulcastTargetEvent: serializeSimulcastTargetEvent,
  deliveryBudgetEvent: serializeDeliveryBudgetEvent,
  webhook: serializeWebhook,
  readUpload: validateCreateUpload,
  readLiveAsset,
  readPlaybackRestriction: validateCreatePlaybackRestriction,
};
