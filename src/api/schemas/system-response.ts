import { Type } from 'typebox';
import { permissions } from './permissions.js';
import { id, isoTime, unixSeconds } from './response.js';
import { VocabularyBody } from './vocabulary.js';

const { Optional, Object: Fields, Enum, Integer, String: Text, Boolean: Flag, Null, Number: Numeric } = Type;

export const CallerAnswer = Fields(
  {
    access_token_name: Text({ description: 'Name of the access token, as the operator chose it' }),
    environment_id: id('ID of the environment that the token belongs to. The token sees only its resources'),
    environment_name: Text({ description: 'Name of the environment that the token belongs to' }),
    environment_type: Enum(['development', 'production'], {
      description: 'What the environment is meant for. The server treats both types the same',
    }),
    organization_id: id('ID of the organization, the same for all environments of a server'),
    organization_name: Text({ description: 'Name of the organization that runs the server' }),
    permissions: Type.Array(Enum(permissions), {
      description: 'What the token may do. A `write` permission does not include `read`',
    }),
  },
  { title: 'Caller', description: 'The access token of a request and its environment' },
);

const WEBHOOK_ID = 'ID of the webhook that receives the event';

export const WebhookResponse = Fields(
  {
    id: id('Unique ID of the webhook'),
    address: Text({ description: 'URL that receives the events as POST requests' }),
    enabled: Flag({ description: 'Whether events are delivered to the webhook' }),
    created_at: isoTime('When the webhook was created'),
  },
  { title: 'Webhook', description: 'A URL that receives every event of an environment' },
);

export const NewWebhookResponse = Fields(
  {
    ...WebhookResponse.properties,
    signing_secret: Text({
      description:
        'Key to verify the `mux-signature` header of deliveries. Returned only in this response, so store it now',
    }),
  },
  { title: 'NewWebhook', description: 'A webhook with the secret that signs its deliveries' },
);

/** The response of the receiver; absent when there was none. */
const response = {
  response_status_code: Optional(
    Integer({ description: 'HTTP status of the response; 2xx is a success. Absent if there was no response' }),
  ),
  response_headers: Optional(
    Type.Record(Text(), Text(), { description: 'Headers of the response. Absent if there was no response' }),
  ),
  response_body: Optional(
    Text({ description: 'The first 1,024 bytes of the response. Absent if there was no response' }),
  ),
};
const attemptAddress = () => Text({ description: 'URL that the attempt was sent to' });

const ObjectOfEvent = Fields(
  {
    type: Text({ description: 'Kind of the resource, such as `asset`, `track` or `upload`' }),
    id: id('ID of the resource'),
  },
  { description: 'The resource that changed' },
);
const eventType = () => Text({ description: 'What happened to which kind of resource, such as `video.asset.ready`' });

export const EventResponse = Fields(
  {
    id: Text({
      format: 'uuid',
      description: 'Unique ID of the event. The same for all webhooks and attempts, so it identifies duplicates',
    }),
    type: eventType(),
    object: ObjectOfEvent,
    environment: Fields(
      { name: Text({ description: 'Name of the environment' }), id: id('ID of the environment') },
      { description: 'The environment that the resource belongs to' },
    ),
    data: Type.Unsafe({
      type: 'object',
      description:
        'The resource at the time of the event, as API responses represent it, except that times are numbers of Unix seconds',
    }),
    created_at: isoTime('When the event happened'),
    attempts: Type.Array(
      Fields({
        id: Text({ description: 'Unique ID of the attempt' }),
        webhook_id: id(WEBHOOK_ID),
        address: attemptAddress(),
        created_at: isoTime('When the attempt began'),
        max_attempts: Integer({ description: 'Number of attempts after which a delivery fails' }),
        ...response,
      }),
      { description: 'Every attempt to deliver the event. Filled only when one event is retrieved; empty elsewhere' },
    ),
    request_id: Null({ description: 'Always `null`. Present for compatibility' }),
    accessor: Null({ description: 'Always `null`. Present for compatibility' }),
    accessor_source: Null({ description: 'Always `null`. Present for compatibility' }),
  },
  { title: 'Event', description: 'A change of a resource. Webhooks receive this object as the body of a request' },
);

export const DeliveryResponse = Fields(
  {
    id: Text({ format: 'uuid', description: 'Unique ID of the delivery' }),
    webhook_id: id(WEBHOOK_ID),
    event: Fields(
      {
        id: Text({ format: 'uuid', description: 'ID of the event' }),
        type: eventType(),
        object: ObjectOfEvent,
      },
      { description: 'The event that is delivered, without its data' },
    ),
    state: Enum(['pending', 'succeeded', 'failed', 'stopped'], {
      description:
        '`pending` while attempts remain; then `succeeded`, or `failed` after the last attempt. `stopped` if the webhook was disabled or deleted',
    }),
    created_at: isoTime('When the delivery was created'),
    next_attempt_at: Optional(isoTime('When the next attempt is due. Present while the delivery is `pending`')),
    finished_at: Optional(isoTime('When the delivery ended. Present unless it is `pending`')),
    attempts: Type.Array(
      Fields({
        number: Integer({ description: 'Number of the attempt, starting at 1' }),
        address: attemptAddress(),
        created_at: isoTime('When the attempt began'),
        duration_ms: Integer({ description: 'Duration of the attempt in milliseconds' }),
        ...response,
        error: Optional(Text({ description: 'Why there is no response. Absent if there was one' })),
      }),
      { description: 'Every attempt so far, the oldest first' },
    ),
  },
  { title: 'Delivery', description: 'An event on its way to one webhook, with all attempts' },
);

export const VocabularyResponse = Fields(
  {
    id: id('Unique ID of the vocabulary'),
    ...VocabularyBody.properties,
    created_at: unixSeconds('When the vocabulary was created'),
    updated_at: unixSeconds('When the vocabulary was last replaced'),
  },
  { title: 'TranscriptionVocabulary', description: 'Words and phrases that speech recognition should expect' },
);

export const UsageExportResponse = Fields(
  {
    date: Text({ description: 'Day that the export covers' }),
    download_url: Text({ format: 'uri', description: 'Signed URL of the export file' }),
    download_url_expires_at: Integer({ description: 'When the URL expires, in Unix seconds' }),
    file_size: Type.Union([Integer(), Null()], { description: 'Size of the file in bytes; `null` if unknown' }),
  },
  { title: 'UsageExport', description: 'A file with the usage of one day. Kinora makes none' },
);

const tierSeconds = (tier: string) =>
  Optional(Numeric({ description: `Seconds delivered as ${tier}. Absent if there are none` }));

export const DeliveryUsageResponse = Fields(
  {
    asset_id: id('ID of the asset that was delivered'),
    asset_state: Enum(['ready', 'errored', 'deleted'], { description: 'State of the asset now' }),
    asset_duration: Optional(Numeric({ description: 'Length of the asset in seconds. Absent if unknown' })),
    asset_resolution_tier: Optional(Text({ description: 'The `resolution_tier` of the asset. Absent if unknown' })),
    asset_encoding_tier: Optional(Text({ description: 'The deprecated `encoding_tier` of the asset' })),
    asset_video_quality: Optional(Text({ description: 'The `video_quality` of the asset' })),
    created_at: unixSeconds('When the asset was created'),
    deleted_at: Optional(unixSeconds('When the asset was deleted. Present only for deleted assets')),
    passthrough: Optional(Text({ description: 'The `passthrough` of the asset. Present when set' })),
    delivered_seconds: Numeric({ description: 'Seconds of the asset that were sent to viewers in the period' }),
    delivered_seconds_by_resolution: Fields(
      {
        tier_2160p: tierSeconds('2160p: more than 4,194,304 pixels'),
        tier_1440p: tierSeconds('1440p: at most 4,194,304 pixels'),
        tier_1080p: tierSeconds('1080p: at most 2,073,600 pixels'),
        tier_720p: tierSeconds('720p: at most 921,600 pixels'),
        tier_audio_only: tierSeconds('audio without video'),
      },
      { description: 'The delivered seconds, split by the resolution that viewers received' },
    ),
  },
  { title: 'DeliveryUsage', description: 'How much of an asset was sent to viewers in a period' },
);
