import { Type } from 'typebox';
import { list, listWithCursor, listWithTimeframe, one } from '../schemas/answer.js';
import {
  CallerAnswer,
  DeliveryAnswer,
  DeliveryUsageAnswer,
  EventAnswer,
  NewWebhookAnswer,
  UsageExportAnswer,
  VocabularyAnswer,
  WebhookAnswer,
} from '../schemas/system-answer.js';
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
    details: 'Any valid token will do.',
    answer: one(CallerAnswer),
  },
  createWebhook: {
    ...webhooks,
    summary: 'Create a webhook',
    details: 'It gets every event of the environment from now on. `signing_secret` is in this answer only.',
    body: CreateWebhookBody,
    example: { address: 'https://hooks.example.org/in' },
    answer: one(NewWebhookAnswer),
  },
  listWebhooks: {
    ...webhooks,
    summary: 'List webhooks',
    details: 'Newest first.',
    query: paging(),
    answer: list(WebhookAnswer),
  },
  getWebhook: { ...webhooks, summary: 'Retrieve a webhook', answer: one(WebhookAnswer) },
  updateWebhook: {
    ...webhooks,
    summary: 'Update a webhook',
    details: 'Disabling stops pending deliveries.',
    body: UpdateWebhookBody,
    example: { enabled: false },
    answer: one(WebhookAnswer),
  },
  deleteWebhook: { ...webhooks, summary: 'Delete a webhook' },
  testWebhook: {
    ...webhooks,
    summary: 'Send a test event to a webhook',
    body: 'none',
    answer: one(DeliveryAnswer),
  },
  listDeliveries: {
    ...webhooks,
    summary: 'List deliveries of a webhook',
    details: 'Newest first, with every attempt.',
    query: pagingWithCursor(),
    answer: listWithCursor(DeliveryAnswer),
  },
  getDelivery: { ...webhooks, summary: 'Retrieve a delivery', answer: one(DeliveryAnswer) },
  redeliver: { ...webhooks, summary: 'Retry a delivery', body: 'none', answer: one(DeliveryAnswer) },
  listEvents: {
    ...webhooks,
    summary: 'List events',
    details: 'Newest first.',
    query: {
      ...pagingWithCursor(),
      type: Type.String({ description: 'Only events of this type' }),
      object_type: Type.String({ description: 'Only events about this kind of resource' }),
      object_id: Type.String({ description: 'Only events about this resource' }),
    },
    answer: listWithCursor(EventAnswer),
  },
  getEvent: { ...webhooks, summary: 'Retrieve an event and its deliveries', answer: one(EventAnswer) },
  createTranscriptionVocabulary: {
    ...vocabularies,
    summary: 'Create a transcription vocabulary',
    body: VocabularyBody,
    example: { name: 'Products', phrases: ['Kinora', 'HLS'] },
    answer: one(VocabularyAnswer),
  },
  listTranscriptionVocabularies: {
    ...vocabularies,
    summary: 'List transcription vocabularies',
    details: 'Newest first.',
    query: paging({ default: 10, max: 10 }),
    answer: list(VocabularyAnswer),
  },
  getTranscriptionVocabulary: {
    ...vocabularies,
    summary: 'Retrieve a transcription vocabulary',
    answer: one(VocabularyAnswer),
  },
  updateTranscriptionVocabulary: {
    ...vocabularies,
    summary: 'Update a transcription vocabulary',
    details: 'As a whole: what is not named is cleared.',
    body: VocabularyBody,
    example: { phrases: ['Kinora'] },
    answer: one(VocabularyAnswer),
  },
  deleteTranscriptionVocabulary: { ...vocabularies, summary: 'Delete a transcription vocabulary' },
  listDeliveryUsage: {
    ...usage,
    summary: 'List delivery usage',
    details: 'Most watched first. The last five minutes may be incomplete.',
    query: {
      ...paging({ default: 100, max: 100 }),
      ...timeframe('From and until, Unix seconds; the hour from 13 to 12 hours ago when absent'),
      asset_id: Type.String({ description: 'Only this asset' }),
      live_stream_id: Type.String({ description: 'There are no live streams: gives an empty list' }),
    },
    answer: listWithTimeframe(DeliveryUsageAnswer),
  },
  listUsageExports: {
    ...usage,
    summary: 'List usage exports',
    details: 'Always empty: nothing is billed.',
    query: {
      ...paging(),
      ...timeframe('From and until, Unix seconds; or one text such as `7:days`'),
      download_url_ttl: Type.Integer({ minimum: 1, description: 'Seconds' }),
    },
    answer: Type.Object({
      data: Type.Array(UsageExportAnswer),
      meta: Type.Object({ limit: Type.Integer(), page: Type.Integer(), pages: Type.Integer(), total: Type.Integer() }),
    }),
  },
} as const satisfies Record<string, Description>;
