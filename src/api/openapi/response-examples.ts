import type { TSchema } from 'typebox';
import { permissions } from '../../domain/access/permissions.js';
import type { ApiPart } from './api-part.js';
import { liveExamples, liveExamplesAfter } from './live-examples.js';

type Json = Record<string, unknown>;

const ASSET_ID = 'Kq3vT8sWbN1xJ6yHf0ZpR4uLdE2mC7aGKq3vT8sW';
const PLAYBACK_ID = 'w5Yd02hQnXrB8tLfV3sKp7mZcJ6eGuA1w5Yd02hQ';
const TRACK_ID = 'a7RkN2vLq9TzW4cXy1HdM6sBpE8gUfJ3a7RkN2vL';
const UPLOAD_ID = 'G4tZm8XcPq1LwS6vRb9NkY3hDfJ7aEu2G4tZm8Xc';
const KEY_ID = 'c2MxVb7QeTn5LkRw9ZsHy4PfJd8GuA1c2MxVb7Qe';
const WEBHOOK_ID = 'q7m2x9';
const EVENT_ID = '5a0f2b0e-7c1d-4e56-9a3f-2f4b8c7d6e10';
const CREATED_AT = '1767225600';
const CREATED_TIME = '2026-01-01T00:00:00.000000Z';

const playbackId = { id: PLAYBACK_ID, policy: 'public' };
const track = {
  id: TRACK_ID,
  type: 'text',
  status: 'ready',
  name: 'Deutsch',
  language_code: 'de',
  text_type: 'subtitles',
  text_source: 'uploaded',
  closed_captions: false,
};
const meta = { title: 'Harbor walk', external_id: 'film-17' };
const rendition = {
  id: 'e9LpX3rVnB6yTk1WqZ5sHc8MfJ2dGuA4e9LpX3rV',
  name: '720p.mp4',
  ext: 'mp4',
  type: 'advanced',
  status: 'ready',
  resolution: '720p',
  resolution_tier: '720p',
  width: 1280,
  height: 720,
  bitrate: 2_412_000,
  filesize: '12783600',
  passthrough: 'for-download',
};
/** What an asset is from its creation on. */
const newAsset = {
  id: ASSET_ID,
  status: 'preparing',
  created_at: CREATED_AT,
  progress: { state: 'ingesting', progress: 0 },
  playback_ids: [playbackId],
  master_access: 'none',
  mp4_support: 'none',
  normalize_audio: false,
  encoding_tier: 'smart',
  video_quality: 'plus',
  max_resolution_tier: '1080p',
  ingest_type: 'on_demand_url',
  passthrough: 'order-81',
  meta,
};
const asset = {
  ...newAsset,
  status: 'ready',
  progress: { state: 'completed', progress: 100 },
  duration: 42.4,
  aspect_ratio: '16:9',
  resolution_tier: '1080p',
  max_stored_resolution: 'HD',
  max_stored_frame_rate: 25,
  tracks: [
    { id: 'u1', type: 'video', duration: 42.4, max_width: 1920, max_height: 1080, max_frame_rate: 25 },
    {
      ...{ id: 'u2', type: 'audio', status: 'ready', duration: 42.4, max_channels: 2, max_channel_layout: 'stereo' },
      ...{ primary: true, name: 'Default', language_code: 'und' },
    },
  ],
};
const upload = {
  id: UPLOAD_ID,
  status: 'waiting',
  timeout: 3600,
  cors_origin: 'https://studio.example.org',
  new_asset_settings: { playback_policies: ['public'] },
  url: `https://video.example.org/upload/${UPLOAD_ID}?signature=c2lnbmF0dXJl`,
};
const signingKey = { id: KEY_ID, created_at: CREATED_AT };
const webhook = {
  id: WEBHOOK_ID,
  address: 'https://hooks.example.org/in',
  enabled: true,
  created_at: CREATED_TIME,
};
const event = {
  id: EVENT_ID,
  type: 'video.asset.ready',
  object: { type: 'asset', id: ASSET_ID },
  environment: { name: 'Default', id: 'k3x9ab' },
  data: { ...asset, created_at: Number(CREATED_AT) },
  created_at: '2026-01-01T00:00:09.250000Z',
  attempts: [],
  request_id: null,
  accessor: null,
  accessor_source: null,
};
const delivery = {
  id: '9c3b1d52-40f7-4a86-8d1e-6b2f0a7c5e38',
  webhook_id: WEBHOOK_ID,
  event: { id: EVENT_ID, type: event.type, object: event.object },
  state: 'succeeded',
  created_at: '2026-01-01T00:00:09.260000Z',
  finished_at: '2026-01-01T00:00:09.420000Z',
  attempts: [
    {
      number: 1,
      address: webhook.address,
      created_at: '2026-01-01T00:00:09.300000Z',
      duration_ms: 118,
      response_status_code: 200,
      response_headers: { 'content-type': 'text/plain' },
      response_body: 'ok',
    },
  ],
};

/** By the title of the schema. */
export const examples: Readonly<Record<string, Json>> = {
  ...liveExamples,
  Asset: asset,
  PlaybackId: playbackId,
  PlaybackIdOwner: { ...playbackId, object: { type: 'asset', id: ASSET_ID } },
  Track: track,
  StaticRendition: rendition,
  Shots: {
    status: 'completed',
    created_at: CREATED_AT,
    shots_manifest_url: `https://video.example.org/artifacts/shots/${ASSET_ID}.json?signature=c2lnbmF0dXJl`,
  },
  InputInfo: {
    settings: { url: 'https://media.example.org/walk.mp4' },
    file: {
      container_format: 'mov,mp4,m4a,3gp,3g2,mj2',
      tracks: [
        { type: 'video', duration: 42.4, encoding: 'h264', width: 1920, height: 1080, frame_rate: 25 },
        { type: 'audio', duration: 42.4, encoding: 'aac', channels: 2, sample_rate: 48_000 },
      ],
    },
    early_playback: { status: 'played' },
    copy_decision: 'copied: the source fits the rung',
  },
  Upload: upload,
  SigningKey: signingKey,
  NewSigningKey: { ...signingKey, private_key: 'LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo=' },
  PlaybackRestriction: {
    id: 'n8VtQ1xLc5RbZ7wKs3YpH9mDfJ4eGuA2n8VtQ1xL',
    created_at: CREATED_AT,
    updated_at: CREATED_AT,
    referrer: { allowed_domains: ['example.com', '*.example.com'], allow_no_referrer: false },
    user_agent: { allow_no_user_agent: true, allow_high_risk_user_agent: true },
  },
  PublicPlaybackRestriction: { playback_restriction_id: 'n8VtQ1xLc5RbZ7wKs3YpH9mDfJ4eGuA2n8VtQ1xL' },
  DeliveryBudget: {
    id: 'b7RwT2xMc6SbZ8vKq4YnH1mDgJ5eFuA3b7RwT2xM',
    created_at: CREATED_AT,
    updated_at: CREATED_AT,
    period: 'month',
    bytes: 500_000_000_000,
    action: 'step_down',
    delivered_bytes: 412_345_678_901,
    status: 'warning',
    period_started_at: '1767225600',
    period_ends_at: '1769904000',
  },
  DrmConfiguration: { id: 'h6WcR2nXv8TqL4zKb1YsP9mDfJ3eGuA5h6WcR2nX' },
  Caller: {
    access_token_name: 'website',
    environment_id: 'k3x9ab',
    environment_name: 'Default',
    environment_type: 'production',
    organization_id: 'd4f7p2',
    organization_name: 'Kinora',
    permissions: [...permissions],
  },
  Webhook: webhook,
  NewWebhook: { ...webhook, signing_secret: 'sT9vXq2LbR7nWc4ZkY1hPm6JdF3eGuA8' },
  Delivery: delivery,
  Event: event,
  TranscriptionVocabulary: {
    id: 'y3KdN7xQv1TbL9wRs5ZpH2mCfJ8eGuA6y3KdN7xQ',
    name: 'Products',
    phrases: ['Kinora', 'HLS'],
    created_at: CREATED_AT,
    updated_at: CREATED_AT,
  },
  DeliveryUsage: {
    asset_id: ASSET_ID,
    asset_state: 'ready',
    asset_duration: 42.4,
    asset_resolution_tier: '1080p',
    asset_encoding_tier: 'smart',
    asset_video_quality: 'plus',
    created_at: CREATED_AT,
    passthrough: 'order-81',
    delivered_seconds: 1284.5,
    delivered_seconds_by_resolution: { tier_1080p: 980.5, tier_720p: 304 },
  },
};

/** What is beside `data`. */
const paging: Json = {
  next_cursor: null,
  total_row_count: 1,
  page: 1,
  limit: 25,
  timeframe: [1_767_225_600, 1_767_830_400],
  // Of usage exports, of which there are none.
  meta: { limit: 25, page: 1, pages: 0, total: 0 },
};

const { url: _, ...sentUpload } = upload;

/** Resources right after an operation, where they differ from those that exist for a while. */
export const examplesAfter: Readonly<Record<string, Json>> = {
  ...liveExamplesAfter,
  createAsset: newAsset,
  updateAsset: { ...asset, meta: { ...meta, title: 'Harbor walk, second day' } },
  updateMasterAccess: { ...asset, master_access: 'temporary', master: { status: 'preparing' } },
  updateMp4Support: { ...asset, mp4_support: 'capped-1080p', static_renditions: { status: 'preparing' } },
  createShots: { status: 'pending', created_at: CREATED_AT },
  createPlaybackId: { id: PLAYBACK_ID, policy: 'signed' },
  createStaticRendition: {
    ...{ id: rendition.id, name: '720p.mp4', ext: 'mp4', type: 'advanced', status: 'preparing', resolution: '720p' },
    passthrough: 'for-download',
  },
  createTrack: { ...track, status: 'preparing' },
  updateTrack: { ...track, name: 'Deutsch (Untertitel)', closed_captions: true },
  generateSubtitles: {
    ...{ id: TRACK_ID, type: 'text', status: 'preparing', name: 'English CC', language_code: 'en' },
    ...{ text_type: 'subtitles', text_source: 'generated_vod' },
  },
  cancelUpload: { ...sentUpload, status: 'cancelled' },
  updateWebhook: { ...webhook, enabled: false },
};

/**
 * An example of the whole response of an operation.
 * @param answer its schema; undefined is returned when it is of a resource that has no example
 */
export const responseExample = (
  api: Pick<ApiPart, 'examples' | 'examplesAfter'>,
  operationId: string,
  response: TSchema,
): Json | undefined => {
  const { properties } = response as unknown as { properties: Record<string, Json & { examples?: unknown[] }> };
  const { data, ...rest } = properties;
  const isList = data?.type === 'array';
  const title = String((isList ? (data.items as Json) : data)?.title);
  const resource = api.examplesAfter[operationId] ?? api.examples[title];
  // Only this list is always empty.
  const isEmpty = title === 'UsageExport';
  if (!resource && !isEmpty) return undefined;
  return {
    data: isEmpty ? [] : isList ? [resource] : resource,
    ...Object.fromEntries(Object.entries(rest).map(([name, { examples }]) => [name, examples?.[0] ?? paging[name]])),
  };
};
