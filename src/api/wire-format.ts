import type { WireFormat } from '../domain/wire-format.js';
import { serializeAsset, serializeAssetEvent, serializeAssetWarning } from './responses/asset.js';
import { serializeShotsEvent } from './responses/shots.js';
import { serializeRenditionEvent } from './responses/static-rendition.js';
import { serializeTrackEvent } from './responses/track.js';
import { serializeUploadEvent } from './responses/upload.js';
import { serializeWebhook } from './responses/webhook.js';
import { validateCreateUpload } from './validate/create-upload.js';
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
  webhook: serializeWebhook,
  readUpload: validateCreateUpload,
  readPlaybackRestriction: validateCreatePlaybackRestriction,
};
