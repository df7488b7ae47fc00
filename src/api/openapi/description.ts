import { type TSchema, Type } from 'typebox';

/** What the document says about an operation in addition to its entry in the operations table. */
export interface Description {
  readonly tag: Tag;
  /** Begins with a verb. */
  readonly summary: string;
  /** What it does beyond its summary, in sentences. */
  readonly details: string;
  readonly query?: Readonly<Record<string, TSchema>>;
  /**
   * The schema that validates request bodies; `none` for an operation that does not read a body.
   */
  readonly body?: TSchema | 'none';
  /** A valid body. */
  readonly example?: object;
  /** The whole body of a successful response; absent for 204. */
  readonly response?: TSchema;
  readonly deprecated?: boolean;
  /** The operation may be refused because of the current state of the resource. */
  readonly canConflict?: true;
}

export const tags = {
  Assets: 'Videos and audio that viewers can play.',
  'Playback IDs': 'Public identifiers of an asset, each with a policy.',
  Tracks: 'Subtitles and alternate audio.',
  Renditions: 'MP4 and M4A files for download.',
  'Direct uploads': 'Uploads from a browser or an app.',
  'Live streams': 'Broadcasts from an encoder, which become assets.',
  'Playback restrictions': 'Rules for the sites and user agents of signed and public playback.',
  'Signing keys': 'Keys that sign playback tokens.',
  'Webhooks and events': 'Notifications about changes.',
  'Delivery usage': 'Delivered seconds of each asset.',
  'Delivery budgets': 'How much may be delivered in a day or month, and what follows when it was.',
  'Transcription vocabularies': 'Phrases for speech recognition.',
  'DRM configurations':
    'Sources of keys and licenses for DRM playback. The operator creates them with `kinora drm create`.',
  Audience: 'Who watched, and how well it played.',
  Directives: 'Workflows that run on assets, with their dependencies.',
  'Robots jobs': 'Single workflow runs, such as summaries, chapters and translations.',
  'Video views': 'What players report: who watched what, and how well it played.',
  Monitoring: 'Viewers and failures of the last minutes, every five seconds.',
  Engagement: 'Which parts of a video viewers watch.',
  Annotations: 'Notes about times, beside what views show of them.',
  Metrics: 'How many views there were and how well they played, over time and by dimension.',
  Account: 'Information about the access token.',
} as const;
export type Tag = keyof typeof tags;

/** In a query, an empty value counts as absent. */
const positive = (description: string, preset: number) => Type.Integer({ minimum: 1, default: preset, description });

export const paging = (limits = { default: 25, max: 100 }) => ({
  limit: positive(`Number of items on a page. Larger values count as ${limits.max}`, limits.default),
  page: positive('Number of the page, starting at 1. A page past the end is empty', 1),
});

export const pagingWithCursor = () => ({
  ...paging(),
  cursor: Type.String({
    description: 'The `next_cursor` of the previous page. Overrides `page`. Send the same filters again',
  }),
});

/** Written `timeframe[]=a&timeframe[]=b`. */
export const timeframe = (description: string) => ({
  timeframe: Type.Array(Type.String(), { maxItems: 2, description }),
});

/** Descriptions of path parameters, by name. */
export const pathParameters: Readonly<Record<string, string>> = {
  assetId: 'ID of the asset',
  playbackId: 'The playback ID',
  trackId: 'ID of the track, from `tracks` of the asset',
  renditionId: 'ID of the static rendition, from `static_renditions.files` of the asset',
  uploadId: 'ID of the direct upload',
  liveStreamId: 'ID of the live stream',
  simulcastTargetId: 'ID of the simulcast target, from `simulcast_targets` of the live stream',
  vocabularyId: 'ID of the transcription vocabulary',
  configurationId: 'ID of the DRM configuration',
  signingKeyId: 'ID of the signing key',
  playbackRestrictionId: 'ID of the playback restriction',
  deliveryBudgetId: 'ID of the delivery budget',
  webhookId: 'ID of the webhook, six characters long',
  deliveryId: 'ID of the delivery, a UUID',
  eventId: 'ID of the event, a UUID',
};
