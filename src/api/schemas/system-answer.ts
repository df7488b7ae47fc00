import { Type } from 'typebox';
import { id, isoTime, unixSeconds } from './answer.js';
import { permissions } from './permissions.js';
import { VocabularyBody } from './vocabulary.js';

const { Optional, Object: Fields, Enum, Integer, String: Text, Boolean: Flag, Null, Number: Numeric } = Type;

export const CallerAnswer = Fields(
  {
    access_token_name: Text(),
    environment_id: id(),
    environment_name: Text(),
    environment_type: Enum(['development', 'production']),
    organization_id: id(),
    organization_name: Text(),
    permissions: Type.Array(Enum(permissions)),
  },
  { title: 'Caller' },
);

export const WebhookAnswer = Fields(
  { id: id(), address: Text(), enabled: Flag(), created_at: isoTime() },
  { title: 'Webhook' },
);

export const NewWebhookAnswer = Fields(
  {
    ...WebhookAnswer.properties,
    signing_secret: Text({ description: 'Key of `Mux-Signature`; returned only once' }),
  },
  { title: 'NewWebhook' },
);

/** The response of the receiver; absent when there was none. */
const response = {
  response_status_code: Optional(Integer()),
  response_headers: Optional(Type.Record(Text(), Text())),
  response_body: Optional(Text({ description: 'The first KiB' })),
};

const ObjectOfEvent = Fields({ type: Text(), id: id() });

export const EventAnswer = Fields(
  {
    id: Text({ format: 'uuid', description: 'The same for all attempts and webhooks' }),
    type: Text({ description: '`video.asset.ready`' }),
    object: ObjectOfEvent,
    environment: Fields({ name: Text(), id: id() }),
    data: Type.Unsafe({ type: 'object', description: 'The resource at the time of the event' }),
    created_at: isoTime(),
    attempts: Type.Array(
      Fields({
        id: Text(),
        webhook_id: id(),
        address: Text(),
        created_at: isoTime(),
        max_attempts: Integer(),
        ...response,
      }),
      { description: 'Empty in deliveries and lists' },
    ),
    request_id: Null(),
    accessor: Null(),
    accessor_source: Null(),
  },
  { title: 'Event' },
);

export const DeliveryAnswer = Fields(
  {
    id: Text({ format: 'uuid' }),
    webhook_id: id(),
    event: Fields({ id: Text({ format: 'uuid' }), type: Text(), object: ObjectOfEvent }),
    state: Enum(['pending', 'succeeded', 'failed', 'stopped']),
    created_at: isoTime(),
    next_attempt_at: Optional(isoTime()),
    finished_at: Optional(isoTime()),
    attempts: Type.Array(
      Fields({
        number: Integer(),
        address: Text(),
        created_at: isoTime(),
        duration_ms: Integer(),
        ...response,
        error: Optional(Text({ description: 'Why there is no response' })),
      }),
    ),
  },
  { title: 'Delivery' },
);

export const VocabularyAnswer = Fields(
  {
    id: id(),
    ...VocabularyBody.properties,
    created_at: unixSeconds(),
    updated_at: unixSeconds(),
  },
  { title: 'TranscriptionVocabulary' },
);

export const UsageExportAnswer = Fields(
  {
    date: Text(),
    download_url: Text({ format: 'uri' }),
    download_url_expires_at: Integer(),
    file_size: Type.Union([Integer(), Null()]),
  },
  { title: 'UsageExport' },
);

const tierSeconds = () => Optional(Numeric());

export const DeliveryUsageAnswer = Fields(
  {
    asset_id: id(),
    asset_state: Enum(['ready', 'errored', 'deleted']),
    asset_duration: Optional(Numeric({ description: 'Seconds' })),
    asset_resolution_tier: Optional(Text()),
    asset_encoding_tier: Optional(Text()),
    asset_video_quality: Optional(Text()),
    created_at: unixSeconds(),
    deleted_at: Optional(unixSeconds()),
    passthrough: Optional(Text()),
    delivered_seconds: Numeric(),
    delivered_seconds_by_resolution: Fields({
      tier_2160p: tierSeconds(),
      tier_1440p: tierSeconds(),
      tier_1080p: tierSeconds(),
      tier_720p: tierSeconds(),
      tier_audio_only: tierSeconds(),
    }),
  },
  { title: 'DeliveryUsage' },
);
