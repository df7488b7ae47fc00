import type { Permission } from '../domain/access/permissions.js';

export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Parameters are written as `:name`. */
  readonly path: string;
  /** The allowed values of parameters, by name; a path with any other value is unknown. */
  readonly paramValues?: Readonly<Record<string, readonly string[]>>;
  /** If absent, any valid token is accepted. */
  readonly permission?: Permission;
  /** Accepted instead of `permission`. */
  readonly otherPermission?: Permission;
  readonly success: 200 | 201 | 204;
  /** Failures have the format of the Robots API, with one message. */
  readonly isRobots?: true;
}

/**
 * All operations of the API: one table, and therefore one file. Routing, access checks and 405
 * answers read it.
 */
export const operations = {
  createAsset: { method: 'POST', path: '/video/v1/assets', permission: 'video:write', success: 201 },
  listAssets: { method: 'GET', path: '/video/v1/assets', permission: 'video:read', success: 200 },
  getAsset: { method: 'GET', path: '/video/v1/assets/:assetId', permission: 'video:read', success: 200 },
  updateAsset: { method: 'PATCH', path: '/video/v1/assets/:assetId', permission: 'video:write', success: 200 },
  deleteAsset: { method: 'DELETE', path: '/video/v1/assets/:assetId', permission: 'video:write', success: 204 },
  deleteThumbnailTime: {
    method: 'DELETE',
    path: '/video/v1/assets/:assetId/thumbnail-time',
    permission: 'video:write',
    success: 204,
  },
  getInputInfo: { method: 'GET', path: '/video/v1/assets/:assetId/input-info', permission: 'video:read', success: 200 },
  createPlaybackId: {
    method: 'POST',
    path: '/video/v1/assets/:assetId/playback-ids',
    permission: 'video:write',
    success: 201,
  },
  getPlaybackId: {
    method: 'GET',
    path: '/video/v1/assets/:assetId/playback-ids/:playbackId',
    permission: 'video:read',
    success: 200,
  },
  deletePlaybackId: {
    method: 'DELETE',
    path: '/video/v1/assets/:assetId/playback-ids/:playbackId',
    permission: 'video:write',
    success: 204,
  },
  findPlaybackIdOwner: {
    method: 'GET',
    path: '/video/v1/playback-ids/:playbackId',
    permission: 'video:read',
    success: 200,
  },
  createTrack: { method: 'POST', path: '/video/v1/assets/:assetId/tracks', permission: 'video:write', success: 201 },
  updateTrack: {
    method: 'PATCH',
    path: '/video/v1/assets/:assetId/tracks/:trackId',
    permission: 'video:write',
    success: 200,
  },
  deleteTrack: {
    method: 'DELETE',
    path: '/video/v1/assets/:assetId/tracks/:trackId',
    permission: 'video:write',
    success: 204,
  },
  generateSubtitles: {
    method: 'POST',
    path: '/video/v1/assets/:assetId/tracks/:trackId/generate-subtitles',
    permission: 'video:write',
    success: 201,
  },
  updateMasterAccess: {
    method: 'PUT',
    path: '/video/v1/assets/:assetId/master-access',
    permission: 'video:write',
    success: 200,
  },
  createShots: { method: 'POST', path: '/video/v1/assets/:assetId/shots', permission: 'video:write', success: 201 },
  getShots: { method: 'GET', path: '/video/v1/assets/:assetId/shots', permission: 'video:read', success: 200 },
  deleteShots: { method: 'DELETE', path: '/video/v1/assets/:assetId/shots', permission: 'video:write', success: 204 },
  createStaticRendition: {
    method: 'POST',
    path: '/video/v1/assets/:assetId/static-renditions',
    permission: 'video:write',
    success: 201,
  },
  deleteStaticRendition: {
    method: 'DELETE',
    path: '/video/v1/assets/:assetId/static-renditions/:renditionId',
    permission: 'video:write',
    success: 204,
  },
  updateMp4Support: {
    method: 'PUT',
    path: '/video/v1/assets/:assetId/mp4-support',
    permission: 'video:write',
    success: 200,
  },
  createUpload: { method: 'POST', path: '/video/v1/uploads', permission: 'video:write', success: 201 },
  listUploads: { method: 'GET', path: '/video/v1/uploads', permission: 'video:read', success: 200 },
  getUpload: { method: 'GET', path: '/video/v1/uploads/:uploadId', permission: 'video:read', success: 200 },
  cancelUpload: {
    method: 'PUT',
    path: '/video/v1/uploads/:uploadId/cancel',
    permission: 'video:write',
    success: 200,
  },
  createLiveStream: { method: 'POST', path: '/video/v1/live-streams', permission: 'video:write', success: 201 },
  listLiveStreams: { method: 'GET', path: '/video/v1/live-streams', permission: 'video:read', success: 200 },
  getLiveStream: {
    method: 'GET',
    path: '/video/v1/live-streams/:liveStreamId',
    permission: 'video:read',
    success: 200,
  },
  updateLiveStream: {
    method: 'PATCH',
    path: '/video/v1/live-streams/:liveStreamId',
    permission: 'video:write',
    success: 200,
  },
  deleteLiveStream: {
    method: 'DELETE',
    path: '/video/v1/live-streams/:liveStreamId',
    permission: 'video:write',
    success: 204,
  },
  createLivePlaybackId: {
    method: 'POST',
    path: '/video/v1/live-streams/:liveStreamId/playback-ids',
    permission: 'video:write',
    success: 201,
  },
  getLivePlaybackId: {
    method: 'GET',
    path: '/video/v1/live-streams/:liveStreamId/playback-ids/:playbackId',
    permission: 'video:read',
    success: 200,
  },
  deleteLivePlaybackId: {
    method: 'DELETE',
    path: '/video/v1/live-streams/:liveStreamId/playback-ids/:playbackId',
    permission: 'video:write',
    success: 204,
  },
  resetStreamKey: {
    method: 'POST',
    path: '/video/v1/live-streams/:liveStreamId/reset-stream-key',
    permission: 'video:write',
    success: 201,
  },
  completeLiveStream: {
    method: 'PUT',
    path: '/video/v1/live-streams/:liveStreamId/complete',
    permission: 'video:write',
    success: 200,
  },
  disableLiveStream: {
    method: 'PUT',
    path: '/video/v1/live-streams/:liveStreamId/disable',
    permission: 'video:write',
    success: 200,
  },
  enableLiveStream: {
    method: 'PUT',
    path: '/video/v1/live-streams/:liveStreamId/enable',
    permission: 'video:write',
    success: 200,
  },
  updateEmbeddedSubtitles: {
    method: 'PUT',
    path: '/video/v1/live-streams/:liveStreamId/embedded-subtitles',
    permission: 'video:write',
    success: 200,
  },
  updateGeneratedSubtitles: {
    method: 'PUT',
    path: '/video/v1/live-streams/:liveStreamId/generated-subtitles',
    permission: 'video:write',
    success: 200,
  },
  createSimulcastTarget: {
    method: 'POST',
    path: '/video/v1/live-streams/:liveStreamId/simulcast-targets',
    permission: 'video:write',
    success: 201,
  },
  getSimulcastTarget: {
    method: 'GET',
    path: '/video/v1/live-streams/:liveStreamId/simulcast-targets/:simulcastTargetId',
    permission: 'video:read',
    success: 200,
  },
  deleteSimulcastTarget: {
    method: 'DELETE',
    path: '/video/v1/live-streams/:liveStreamId/simulcast-targets/:simulcastTargetId',
    permission: 'video:write',
    success: 204,
  },
  updateLiveStaticRenditions: {
    method: 'PUT',
    path: '/video/v1/live-streams/:liveStreamId/new-asset-settings/static-renditions',
    permission: 'video:write',
    success: 201,
  },
  deleteLiveStaticRenditions: {
    method: 'DELETE',
    path: '/video/v1/live-streams/:liveStreamId/new-asset-settings/static-renditions',
    permission: 'video:write',
    success: 204,
  },
  createTranscriptionVocabulary: {
    method: 'POST',
    path: '/video/v1/transcription-vocabularies',
    permission: 'video:write',
    success: 201,
  },
  listTranscriptionVocabularies: {
    method: 'GET',
    path: '/video/v1/transcription-vocabularies',
    permission: 'video:read',
    success: 200,
  },
  getTranscriptionVocabulary: {
    method: 'GET',
    path: '/video/v1/transcription-vocabularies/:vocabularyId',
    permission: 'video:read',
    success: 200,
  },
  updateTranscriptionVocabulary: {
    method: 'PUT',
    path: '/video/v1/transcription-vocabularies/:vocabularyId',
    permission: 'video:write',
    success: 200,
  },
  deleteTranscriptionVocabulary: {
    method: 'DELETE',
    path: '/video/v1/transcription-vocabularies/:vocabularyId',
    permission: 'video:write',
    success: 204,
  },
  listDrmConfigurations: {
    method: 'GET',
    path: '/video/v1/drm-configurations',
    permission: 'video:read',
    success: 200,
  },
  getDrmConfiguration: {
    method: 'GET',
    path: '/video/v1/drm-configurations/:configurationId',
    permission: 'video:read',
    success: 200,
  },
  listDeliveryUsage: { method: 'GET', path: '/video/v1/delivery-usage', permission: 'video:read', success: 200 },
  listUsageExports: { method: 'GET', path: '/system/v1/usage/exports', permission: 'system:read', success: 200 },
  createSigningKey: {
    method: 'POST',
    path: '/system/v1/signing-keys',
    permission: 'system:write',
    success: 201,
  },
  listSigningKeys: {
    method: 'GET',
    path: '/system/v1/signing-keys',
    permission: 'system:read',
    success: 200,
  },
  getSigningKey: {
    method: 'GET',
    path: '/system/v1/signing-keys/:signingKeyId',
    permission: 'system:read',
    success: 200,
  },
  deleteSigningKey: {
    method: 'DELETE',
    path: '/system/v1/signing-keys/:signingKeyId',
    permission: 'system:write',
    success: 204,
  },
  createVideoSigningKey: {
    method: 'POST',
    path: '/video/v1/signing-keys',
    permission: 'video:write',
    otherPermission: 'system:write',
    success: 201,
  },
  listVideoSigningKeys: {
    method: 'GET',
    path: '/video/v1/signing-keys',
    permission: 'video:read',
    otherPermission: 'system:read',
    success: 200,
  },
  getVideoSigningKey: {
    method: 'GET',
    path: '/video/v1/signing-keys/:signingKeyId',
    permission: 'video:read',
    otherPermission: 'system:read',
    success: 200,
  },
  deleteVideoSigningKey: {
    method: 'DELETE',
    path: '/video/v1/signing-keys/:signingKeyId',
    permission: 'video:write',
    otherPermission: 'system:write',
    success: 204,
  },
  createPlaybackRestriction: {
    method: 'POST',
    path: '/video/v1/playback-restrictions',
    permission: 'video:write',
    success: 201,
  },
  listPlaybackRestrictions: {
    method: 'GET',
    path: '/video/v1/playback-restrictions',
    permission: 'video:read',
    success: 200,
  },
  getPlaybackRestriction: {
    method: 'GET',
    path: '/video/v1/playback-restrictions/:playbackRestrictionId',
    permission: 'video:read',
    success: 200,
  },
  deletePlaybackRestriction: {
    method: 'DELETE',
    path: '/video/v1/playback-restrictions/:playbackRestrictionId',
    permission: 'video:write',
    success: 204,
  },
  updatePlaybackRestrictionReferrer: {
    method: 'PUT',
    path: '/video/v1/playback-restrictions/:playbackRestrictionId/referrer',
    permission: 'video:write',
    success: 200,
  },
  updatePlaybackRestrictionUserAgent: {
    method: 'PUT',
    path: '/video/v1/playback-restrictions/:playbackRestrictionId/user_agent',
    permission: 'video:write',
    success: 200,
  },
  getPublicPlaybackRestriction: {
    method: 'GET',
    path: '/video/v1/public-playback-restriction',
    permission: 'video:read',
    success: 200,
  },
  updatePublicPlaybackRestriction: {
    method: 'PUT',
    path: '/video/v1/public-playback-restriction',
    permission: 'video:write',
    success: 200,
  },
  createDeliveryBudget: { method: 'POST', path: '/video/v1/delivery-budgets', permission: 'video:write', success: 201 },
  listDeliveryBudgets: { method: 'GET', path: '/video/v1/delivery-budgets', permission: 'video:read', success: 200 },
  getDeliveryBudget: {
    method: 'GET',
    path: '/video/v1/delivery-budgets/:deliveryBudgetId',
    permission: 'video:read',
    success: 200,
  },
  updateDeliveryBudget: {
    method: 'PATCH',
    path: '/video/v1/delivery-budgets/:deliveryBudgetId',
    permission: 'video:write',
    success: 200,
  },
  deleteDeliveryBudget: {
    method: 'DELETE',
    path: '/video/v1/delivery-budgets/:deliveryBudgetId',
    permission: 'video:write',
    success: 204,
  },
  whoami: { method: 'GET', path: '/system/v1/whoami', success: 200 },
  createWebhook: { method: 'POST', path: '/system/v1/webhooks', permission: 'system:write', success: 201 },
  listWebhooks: { method: 'GET', path: '/system/v1/webhooks', permission: 'system:read', success: 200 },
  getWebhook: { method: 'GET', path: '/system/v1/webhooks/:webhookId', permission: 'system:read', success: 200 },
  updateWebhook: { method: 'PATCH', path: '/system/v1/webhooks/:webhookId', permission: 'system:write', success: 200 },
  deleteWebhook: { method: 'DELETE', path: '/system/v1/webhooks/:webhookId', permission: 'system:write', success: 204 },
  testWebhook: {
    method: 'POST',
    path: '/system/v1/webhooks/:webhookId/test',
    permission: 'system:write',
    success: 201,
  },
  listDeliveries: {
    method: 'GET',
    path: '/system/v1/webhooks/:webhookId/deliveries',
    permission: 'system:read',
    success: 200,
  },
  getDelivery: {
    method: 'GET',
    path: '/system/v1/webhooks/:webhookId/deliveries/:deliveryId',
    permission: 'system:read',
    success: 200,
  },
  redeliver: {
    method: 'POST',
    path: '/system/v1/webhooks/:webhookId/deliveries/:deliveryId/redeliver',
    permission: 'system:write',
    success: 201,
  },
  listEvents: { method: 'GET', path: '/system/v1/events', permission: 'system:read', success: 200 },
  getEvent: { method: 'GET', path: '/system/v1/events/:eventId', permission: 'system:read', success: 200 },
} as const satisfies Record<string, Operation>;

export type OperationId = keyof typeof operations;

/**
 * Returns the path of an operation. `replace` writes each parameter, given its name and allowed
 * values.
 */
export const pathWith = (
  { path, paramValues = {} }: Operation,
  replace: (name: string, values: readonly string[] | undefined) => string,
): string => path.replaceAll(/:(\w+)/g, (_, name: string) => replace(name, paramValues[name]));
