import { Type } from 'typebox';
import { CallerResponse } from '../responses/caller.js';
import { DeliveryResponse, EventResponse } from '../responses/event.js';
import { DeliveryUsageResponse, UsageExportResponse } from '../responses/usage.js';
import { VocabularyResponse } from '../responses/vocabulary.js';
import { NewWebhookResponse, WebhookResponse } from '../responses/webhook.js';
import { list, listWithCursor, listWithTimeframe, one } from '../schemas/response.js';
import { VocabularyBody } from '../schemas/vocabulary.js';
import { CreateWebhookBody, UpdateWebhookBody } from '../schemas/webhook.js';
import { type Description, paging, pagingWithCursor, timeframe } from './description.js';

const vocabularies = { tag: 'Transcription vocabularies' } as const;
const usage = { tag: 'Delivery usage' } as const;
const webhooks = { tag: 'Webhooks and events' } as const;

export const systemOperations = {
  whoami: {
    tag: 'Account',
    summary: 'Retrieve the caller of the request',
    details: 'Works with every valid token.',
    response: one(CallerResponse),
  },
  createWebhook: {
    ...webhooks,
    summary: 'Create a webhook',
    details: 'The webhook receives every later event of the environment. `signing_secret` is returned only once.',
    body: CreateWebhookBody,
    example: { address: 'https://hooks.example.org/in' },
    response: one(NewWebhookResponse),
  },
  listWebhooks: {
    ...webhooks,
    summary: 'List webhooks',
    details: 'Newest first.',
    query: paging(),
    response: list(WebhookResponse),
  },
  getWebhook: {
    ...webhooks,
    summary: 'Retrieve a webhook',
    details: 'Returns the webhook without its `signing_secret`.',
    response: one(WebhookResponse),
  },
  updateWebhook: {
    ...webhooks,
    summary: 'Update a webhook',
    details: 'Disabling a webhook cancels its pending deliveries.',
    body: UpdateWebhookBody,
    example: { enabled: false },
    response: one(WebhookResponse),
  },
  deleteWebhook: {
    ...webhooks,
    summary: 'Delete a webhook',
    details: 'Pending deliveries to the webhook are cancelled.',
  },
  testWebhook: {
    ...webhooks,
    summary: 'Send a test event to a webhook',
    details:
      'Sends an event of the type `kinora.webhook.test` to this webhook only, even if it is disabled, without retries. The response is the new delivery.',
    body: 'none',
    response: one(DeliveryResponse),
  },
  listDeliveries: {
    ...webhooks,
    summary: 'List deliveries of a webhook',
    details: 'Newest first, with every attempt.',
    query: pagingWithCursor(),
    response: listWithCursor(DeliveryResponse),
  },
  getDelivery: {
    ...webhooks,
    summary: 'Retrieve a delivery',
    details: 'Returns the delivery with every attempt and the response of the receiver.',
    response: one(DeliveryResponse),
  },
  redeliver: {
    ...webhooks,
    summary: 'Retry a delivery',
    details: 'Sends the same event to the webhook again. The response is the delivery.',
    body: 'none',
    response: one(DeliveryResponse),
  },
  listEvents: {
    ...webhooks,
    summary: 'List events',
    details: 'Newest first.',
    query: {
      ...pagingWithCursor(),
      type: Type.String({ description: 'Only events of this type, such as `video.asset.ready`' }),
      object_type: Type.String({ description: 'Only events about this kind of resource, such as `asset`' }),
      object_id: Type.String({ description: 'Only events about the resource with this ID' }),
    },
    response: listWithCursor(EventResponse),
  },
  getEvent: {
    ...webhooks,
    summary: 'Retrieve an event and its deliveries',
    details: 'Returns the event with every attempt to deliver it.',
    response: one(EventResponse),
  },
  createTranscriptionVocabulary: {
    ...vocabularies,
    summary: 'Create a transcription vocabulary',
    details: 'Speech recognition uses the phrases as hints, if the recognizer of the server supports them.',
    body: VocabularyBody,
    example: { name: 'Products', phrases: ['Kinora', 'HLS'] },
    response: one(VocabularyResponse),
  },
  listTranscriptionVocabularies: {
    ...vocabularies,
    summary: 'List transcription vocabularies',
    details: 'Newest first.',
    query: paging({ default: 10, max: 10 }),
    response: list(VocabularyResponse),
  },
  getTranscriptionVocabulary: {
    ...vocabularies,
    summary: 'Retrieve a transcription vocabulary',
    details: 'Returns the vocabulary with all of its phrases.',
    response: one(VocabularyResponse),
  },
  updateTranscriptionVocabulary: {
    ...vocabularies,
    summary: 'Update a transcription vocabulary',
    details: 'Replaces the vocabulary: omitted fields are cleared.',
    body: VocabularyBody,
    example: { phrases: ['Kinora'] },
    response: one(VocabularyResponse),
  },
  deleteTranscriptionVocabulary: {
    ...vocabularies,
    summary: 'Delete a transcription vocabulary',
    details: 'Subtitles that exist already do not change.',
  },
  listDeliveryUsage: {
    ...usage,
    summary: 'List delivery usage',
    details: 'Most watched first. The last five minutes can be incomplete.',
    query: {
      ...paging({ default: 100, max: 100 }),
      ...timeframe('Start and end in Unix seconds; by default, the hour that ended 12 hours ago'),
      asset_id: Type.String({ description: 'Only usage of this asset' }),
      live_stream_id: Type.String({ description: 'Only usage of recordings of this live stream' }),
    },
    response: listWithTimeframe(DeliveryUsageResponse),
  },
  listUsageExports: {
    ...usage,
    summary: 'List usage exports',
    details: 'Always empty: nothing is billed.',
    query: {
      ...paging(),
      ...timeframe('Start and end in Unix seconds, or one value such as `7:days`'),
      download_url_ttl: Type.Integer({ minimum: 1, description: 'Seconds for which download URLs are valid' }),
    },
    response: Type.Object({
      data: Type.Array(UsageExportResponse, { description: 'The exports on this page. Always empty' }),
      meta: Type.Object(
        {
          limit: Type.Integer({ description: 'The largest number of exports that a page holds' }),
          page: Type.Integer({ description: 'The number of this page, starting at 1' }),
          pages: Type.Integer({ description: 'Number of pages. Always 0' }),
          total: Type.Integer({ description: 'Number of exports on all pages. Always 0' }),
        },
        { description: 'The position of this page in the list' },
      ),
    }),
  },
} as const satisfies Record<string, Description>;
